"""The state of a process that answers queries from a view of its own, without a gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams.api.route import ProcessState
from streams.engine.log import Log
from streams.log.open_letters import DeadLetters
from streams.log.state import SharedState
from streams.view_store.view import View
from streams.views.status import ViewStatus


def state_of_own_view(view: View, log: Log, prefix: str, clock: Callable[[], int]) -> ProcessState:
    """Return the state of a view that one thread drives; each use asks the log anew."""

    def status() -> ViewStatus:
        return ViewStatus("ready", view.lag(), view.applied, clock(), None)

    def dead_letters() -> Mapping[str, int]:
        letters = DeadLetters(log, prefix)
        letters.read_new()
        return letters.counts

    return ProcessState(status, SharedState(log, prefix, every_s=0), dead_letters)
