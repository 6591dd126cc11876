"""One worker process, from start to end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import faust

from streams.engine.faust_host.app import HostApp
from streams.engine.faust_host.assignor import WholeNumbers
from streams.engine.faust_host.consumer import Transport
from streams.engine.faust_host.leave_group import LeaveGroupProcess
from streams.engine.faust_host.thread import HEARTBEAT_S, SESSION_TIMEOUT_S
from streams.engine.tasks import TaskSet
from streams.settings.connection import ConnectionSettings


def run(
    settings: ConnectionSettings,
    group: str,
    task_set: TaskSet,
    directory: Path,
    *,
    instance_id: str | None,
    background: Sequence[Callable[[], Awaitable[None]]] = (),
) -> None:
    """Host the tasks until SIGINT or SIGTERM.  Raises the error that stops the worker otherwise.

    instance_id: for static membership, stable over restarts; None joins dynamically.
    """
    app = HostApp(
        group,
        broker=f"kafka://{(settings.bootstrap or '').replace(',', ';')}",
        store="memory://",
        datadir=str(directory / "faust"),
        web_enabled=False,
        topic_disable_leader=True,
        stream_wait_empty=False,
        broker_session_timeout=SESSION_TIMEOUT_S,
        broker_heartbeat_interval=HEARTBEAT_S,
        consumer_group_instance_id=instance_id,
    )
    app.headrace = settings
    app.task_set = task_set
    app.group_assignor = WholeNumbers(settings.partitions)
    app.transport = Transport(app.conf.broker, app)
    task_set.on_failure = app.fail
    if instance_id is None:  # a static member keeps its partitions until it comes back
        app.leave_group = LeaveGroupProcess(settings.bootstrap or "", settings.security(), group)
    for topic in task_set.topics:  # a subscription without an agent
        app.topics.add(app.topic(topic, value_type=bytes))
    for job in background:
        app.task(job)
    # Faust would replace the root logger's handlers, and drop everything below a warning.
    worker = faust.Worker(app, override_logging=False, redirect_stdouts=False, quiet=True)
    worker.spinner = None  # it hides the cursor of a terminal that is not its own
    try:
        worker.execute_from_commandline()
    except SystemExit as exc:
        if app.failure is None and exc.code not in (0, None):
            raise
    if app.failure is not None:
        raise app.failure
    if app.leave_group is not None:
        app.leave_group.close()
