"""The metrics of a worker: a closed set, declared once.

Tasks count what they have committed, in their own threads; current values (lag, sizes) are read
when metrics are exported.  Labels come from declarations, so their number is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client import CollectorRegistry, disable_created_metrics
from prometheus_client.core import Metric

from streams.engine import copy_limits
from streams.engine.copy_limits import COPY_BYTES, EVICTED, LimitStatus
from streams.engine.refused_rows import REFUSED
from streams.engine.refused_rows import metric as refused_metric
from streams.engine.store_metrics import declared, memory
from streams.telemetry.metrics import MetricDeclaration, create_metric, metric_family

if TYPE_CHECKING:
    from streams.engine.batch import Batch

VERDICTS = MetricDeclaration(
    "headrace_verdicts_total",
    "counter",
    "Facts with a verdict or a rule, committed. `verdict` is `none` for what is no verdict on a"
    " record; `rule` is `none` where a fact has no such member.",
    ("topic", "verdict", "rule"),
)
DEAD_LETTERS = MetricDeclaration(
    "headrace_dead_letters_total",
    "counter",
    "Dead letters committed, by source topic and error code.",
    ("topic", "code"),
)
RECORDS = MetricDeclaration(
    "headrace_decided_records_total",
    "counter",
    "Input records processed, with their effects committed.",
    ("processor",),
)
TIMERS = MetricDeclaration(
    "headrace_fired_timers_total", "counter", "Timers fired and committed.", ("processor",)
)
BATCH = MetricDeclaration(
    "headrace_batch_seconds", "histogram", "Time to process the records of one transaction."
)
COMMIT = MetricDeclaration(
    "headrace_commit_seconds",
    "histogram",
    "Time to write and commit one transaction, and to store its rows.",
)
REOPENED = MetricDeclaration(
    "headrace_task_reopens_total",
    "counter",
    "Tasks reopened after a failure, by error code.",
    ("code",),
)
TASKS = MetricDeclaration(
    "headrace_tasks",
    "gauge",
    "Tasks that this worker owns, by state: `opening` or `ready`.",
    ("state",),
    True,
)
LAG = MetricDeclaration(
    "headrace_task_lag_records",
    "gauge",
    "Offsets of an input between the next record to process and the last known end.",
    ("topic", "partition"),
    True,
)
LATE = MetricDeclaration(
    "headrace_task_timer_delay_seconds",
    "gauge",
    "How long the earliest timer of a task is overdue; 0 if none is.",
    ("partition",),
    True,
)
GATE = MetricDeclaration(
    "headrace_task_timer_gate_seconds",
    "gauge",
    "How long timers that are due have waited for what an input held when they became due, open"
    " transactions included; 0 while none waits.",
    ("topic", "partition"),
    True,
)
RESTORE = MetricDeclaration(
    "headrace_task_restore_seconds",
    "gauge",
    "Duration of the last opening of a task.",
    ("partition",),
    True,
)
RESTORED = MetricDeclaration(
    "headrace_task_restored_records",
    "gauge",
    "Records read from changelogs when a task was last opened.",
    ("partition",),
    True,
)
STORE = MetricDeclaration(
    "headrace_store_bytes",
    "gauge",
    "Size of the RocksDB of a task (its number) or of the copied tables (`copies`), about.",
    ("store",),
    True,
)
MEMORY = declared("headrace_store_memory_bytes")
ALL = (
    VERDICTS,
    DEAD_LETTERS,
    RECORDS,
    TIMERS,
    BATCH,
    COMMIT,
    REOPENED,
    TASKS,
    LAG,
    LATE,
    GATE,
    RESTORE,
    RESTORED,
    STORE,
    MEMORY,
    COPY_BYTES,
    EVICTED,
    REFUSED,
)
OTHER = "other"
"""The label value of an undeclared rule."""


class TaskMeasurements(NamedTuple):
    """The measurements of a task at one moment.

    lag: offsets, by input topic without prefix.  timer_delay_s: 0 while no timer is due.
    gate_s: how long due timers have waited for each input, by topic without prefix.
    restored, restore_s: records read by its last opening, and how long that took.
    """

    partition: int
    ready: bool
    lag: Mapping[str, int]
    timer_delay_s: float
    gate_s: Mapping[str, float]
    restored: int
    restore_s: float
    store_bytes: int


class WorkerStatus(NamedTuple):
    """The measurements of a worker at one moment.

    copies_bytes: size of the replicated tables.
    assigned: the group has assigned tasks to this worker, maybe none.
    limits: those of replicated tables.
    """

    tasks: Sequence[TaskMeasurements] = ()
    copies_bytes: int = 0
    assigned: bool = False
    limits: Sequence[LimitStatus] = ()


class WorkerMetrics:
    """The metrics of one worker, in a separate registry.  Any thread may count.

    standing: called at each export, from another thread; it must not block.
    rule_codes: those that get a label value; any other counts as `other`.
    """

    def __init__(
        self, standing: Callable[[], WorkerStatus], rule_codes: Collection[str] = frozenset()
    ) -> None:
        self._rule_codes = rule_codes
        disable_created_metrics()  # `_created` series are not declared
        self.registry = CollectorRegistry()
        self.registry.register(_TaskCollector(standing))
        self._metrics: dict[str, Any] = {
            each.name: create_metric(each, self.registry) for each in ALL if not each.read_at_export
        }

    def committed(self, cycle: Batch, commit_s: float) -> None:
        """Count one transaction: its outputs, and the time to decide and to commit it."""
        self._metrics[BATCH.name].observe(cycle.decide_s)
        self._metrics[COMMIT.name].observe(commit_s)
        for (topic, verdict, rule), count in cycle.effects.verdicts.items():
            label = rule if rule in self._rule_codes or rule == "none" else OTHER
            self._metrics[VERDICTS.name].labels(topic, verdict, label).inc(count)
        for (topic, code), count in cycle.effects.letters.items():
            self._metrics[DEAD_LETTERS.name].labels(topic, code).inc(count)
        counter = TIMERS if cycle.timers else RECORDS
        for processor, count in cycle.decided.items():
            self._metrics[counter.name].labels(processor).inc(count)

    def reopened(self, code: str) -> None:
        self._metrics[REOPENED.name].labels(code).inc()


class _TaskCollector:
    """A collector that reads current values from the tasks at each export."""

    def __init__(self, standing: Callable[[], WorkerStatus]) -> None:
        self._standing = standing

    def collect(self) -> Iterable[Metric]:
        tasks, copies_bytes, _, limits = self._standing()
        ready = sum(task.ready for task in tasks)
        numbered: list[tuple[tuple[str, ...], TaskMeasurements]] = [
            ((str(task.partition),), task) for task in tasks
        ]
        yield metric_family(TASKS, {("opening",): len(tasks) - ready, ("ready",): ready})
        yield metric_family(
            LAG, {(t, *n): lag for n, task in numbered for t, lag in task.lag.items()}
        )
        yield metric_family(LATE, {n: task.timer_delay_s for n, task in numbered})
        yield metric_family(
            GATE, {(t, *n): wait for n, task in numbered for t, wait in task.gate_s.items()}
        )
        yield metric_family(RESTORE, {n: task.restore_s for n, task in numbered})
        yield metric_family(RESTORED, {n: task.restored for n, task in numbered})
        sizes = {n: task.store_bytes for n, task in numbered}
        yield metric_family(STORE, sizes | {("copies",): copies_bytes})
        yield memory(MEMORY)
        yield from copy_limits.metrics(limits)
        yield refused_metric()
