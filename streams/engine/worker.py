"""A worker: one process, one state directory, the tasks that the group assigns to it."""

from __future__ import annotations

import gc
import logging
import sys
import uuid
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from schemas import native
from streams.engine import crash_points, faust_host
from streams.engine.certificates import check_trust
from streams.engine.clock import WorkerClock, wall_ms
from streams.engine.global_tables import replicate
from streams.engine.log import Log
from streams.engine.metrics import WorkerMetrics, WorkerStatus
from streams.engine.metrics_server import serve_metrics
from streams.engine.processor import Processor
from streams.engine.store import DirectoryLock, limit_block_cache
from streams.engine.task import Task, group_of
from streams.engine.tasks import TaskSet
from streams.errors import StoreFailed, TopicsMismatch
from streams.log.connecting import connect
from streams.registry.binding import use_registry
from streams.registry.ids import RegistryIds
from streams.settings.connection import ConnectionSettings
from streams.settings.service import ServiceSettings
from topology.core import CHANGELOG
from topology.declarations import ProcessorDeclaration
from topology.topics import dead_letters_of

log = logging.getLogger(__name__)

_SWITCH_S = 0.0005
READY_FILE = "ready"
"""The file written into the state directory once every assigned task is ready."""


def worker_directory(settings: ServiceSettings) -> Path:
    return settings.state_dir / "worker"


def run_worker(
    settings: ConnectionSettings,
    processors: Callable[[], Sequence[Processor]],
    *,
    static: bool = False,
    rule_codes: Collection[str] = frozenset(),
    policy: str | None = None,
    traces_deliveries: bool = False,
) -> None:
    """Run until SIGINT or SIGTERM, then finish commits in flight and close.

    processors: makes the processors of one task (`all_processors`).
    static: join the group under an id kept in the state directory, so that a restart gets its
    tasks back at once; only where this worker alone owns that directory.
    rule_codes: those that get a label value in metrics.
    policy: the policy id of these settings, which the first log line names.
    traces_deliveries: inbox records are the parents of what is sent under them.

    Raises StateLocked, TopicsMismatch, BrokerUnavailable, PositionsLost, InputTruncated,
    NotCoPartitioned, TooManyDeadLetters, SchemasMismatch.
    """
    logging.getLogger("streams").setLevel(settings.log_level.upper())
    log.info("codec: %s%s", native.describe(), "" if policy is None else f"; policy: {policy}")
    if settings.crash_at:
        crash_points.install(settings.crash_at)
    with use_registry(settings) as ids:
        if ids is not None:
            ids.load()
        _run(
            settings,
            processors,
            ids,
            static=static,
            rule_codes=rule_codes,
            traces_deliveries=traces_deliveries,
        )


def _run(
    settings: ConnectionSettings,
    processors: Callable[[], Sequence[Processor]],
    ids: RegistryIds | None,
    *,
    static: bool,
    rule_codes: Collection[str],
    traces_deliveries: bool,
) -> None:
    directory = worker_directory(settings)
    lock = DirectoryLock(directory)
    tune_gc()
    _shorten_switch_interval()
    limit_block_cache(settings.block_cache_mib << 20)
    try:
        source = connect(settings)
        check_trust(settings.bootstrap or "", settings.security())
        declarations = [p.declaration for p in processors()]
        check_topics(source, settings, declarations)
        (directory / READY_FILE).unlink(missing_ok=True)
        copies = replicate(directory / "copies", source, settings, declarations)
        copies.open()
        copies.follow()

        clock = WorkerClock()

        def make(partition: int) -> Task:
            return Task(
                partition,
                processors(),
                source,
                settings,
                directory,
                clock,
                copies,
                ids,
                metrics,
                on_append_time=clock.observe_append_time,
                traces_deliveries=traces_deliveries,
            )

        def measure_worker() -> WorkerStatus:
            assigned, limits = tasks.assignments > 0, copies.limit_status()
            return WorkerStatus(tasks.figures(), copies.size_bytes, assigned, limits)

        topics = {settings.prefix + t.name for d in declarations for t in d.inputs}
        tasks, metrics = TaskSet(make, topics), WorkerMetrics(measure_worker, rule_codes)
        tasks.on_ready = Readiness(tasks, directory)
        tasks.on_reopen = lambda failure: metrics.reopened(failure.code)
        instance = _instance_id(directory) if static else None
        try:
            with serve_metrics(settings.metrics, metrics, measure_worker):
                faust_host.run(settings, group_of(settings), tasks, directory, instance_id=instance)
        finally:
            copies.close()
    finally:
        lock.release()


def check_topics(
    source: Log, settings: ServiceSettings, processors: Sequence[ProcessorDeclaration]
) -> None:
    """Raise TopicsMismatch unless every topic exists, each input with the right partition count."""
    existing = source.topics()
    inputs = [t for p in processors for t in p.inputs]
    outputs = [t for p in processors for t in p.outputs]
    copies = [t.topic for p in processors for t in p.global_tables if t.topic]
    dead = [dead_letters_of(t) for t in inputs]
    required = dict.fromkeys([*inputs, *outputs, *copies, *dead, CHANGELOG])
    missing = [name for t in required if (name := settings.prefix + t.name) not in existing]
    if missing:
        raise TopicsMismatch(
            f"topics are missing: {', '.join(missing)}", advice="Run `headrace topics create`."
        )
    for topic in inputs:
        count = existing[settings.prefix + topic.name].partitions
        if count != settings.partitions:
            raise TopicsMismatch(
                f"{settings.prefix}{topic.name} has {count} partitions,"
                f" HEADRACE_PARTITIONS says {settings.partitions}",
                advice=f"The count is fixed once topics exist: set HEADRACE_PARTITIONS={count}.",
            )


def tune_gc() -> None:
    """Freeze the present objects and raise the garbage collector's thresholds.

    A batch creates many objects that live as long as it does and form no reference cycles.
    With the default thresholds the collector walks them repeatedly: a fifth of the time per packet.
    With these a collection would pause everything for a tenth of a second if cycles were left to
    it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _shorten_switch_interval() -> None:
    """Let threads that fetch and commit wait 0.5 ms for the deciding one, not the default 5 ms."""
    sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_S))


class Readiness:
    """A callback that reports once that all assigned tasks are ready: in the log, and by a file.

    Raises StoreFailed when the file cannot be written.
    """

    def __init__(self, tasks: TaskSet, directory: Path) -> None:
        self._tasks = tasks
        self._directory = directory

    def __call__(self, number: int) -> None:
        """Note that the task of this number has become ready."""
        sought = {n for n, runner in self._tasks.runners.items() if runner.sought}
        if self._tasks.numbers <= sought | {number}:
            self._write()
            log.info("ready: tasks %s", sorted(self._tasks.runners))

    def _write(self) -> None:
        path = self._directory / READY_FILE
        try:
            path.write_text(f"{wall_ms()}\n")
        except OSError as exc:
            raise StoreFailed(f"{path} cannot be written: {exc.strerror}") from exc


def _instance_id(directory: Path) -> str:
    path = directory / "instance-id"
    if not path.exists():
        path.write_text(str(uuid.uuid4()))
    return path.read_text().strip()
