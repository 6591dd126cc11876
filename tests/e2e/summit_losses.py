"""Faults of what a run of Summit has left besides its facts: rows, inboxes, RTES and lineage."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.e2e.outputs import Json
from tests.e2e.summit_history import Entry, Logged
from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.declarations import Topic
from topology.summit import SUMMIT_AGENTS, SUMMIT_CALLS, SUMMIT_INBOX, SUMMIT_MANIFESTS, SUMMIT_RUNS

Fault = Callable[[Logged], None]


def _row(history: Logged, state: str, **members: object) -> Json:
    """The first row of a run in this state that has these members."""
    rows = history.values(SUMMIT_RUNS)
    fits = (row for row in rows if {name: row.get(name) for name in members} == members)
    return next(row for row in fits if row["state"] == state)


def _summit(history: Logged, topic: Topic, member: str, value: object) -> Entry:
    """A record of rtes.raw or of lineage.edges."""
    return next(entry for entry in history.of(topic) if entry.value.get(member) == value)


def _row_of_run(history: Logged) -> None:
    _row(history, "completed")["metrics"]["tokens"] += 1


def _row_missing(history: Logged) -> None:
    del history.of(SUMMIT_RUNS)[-1]


def _row_of_nothing(history: Logged) -> None:
    entry = history.of(SUMMIT_RUNS)[0]
    history.of(SUMMIT_RUNS).append(entry._replace(key=b"run-0"))


def _milder(history: Logged) -> None:
    _row(history, "completed", verificationStatus="failed")["verificationStatus"] = "passed"


def _error_of_another(history: Logged) -> None:
    _row(history, "failed", reason="output.schema")["error"]["code"] = -32011


def _row_of_agent(history: Logged) -> None:
    history.of(SUMMIT_AGENTS)[0].value["state"] = "withdrawn"


def _row_of_agent_missing(history: Logged) -> None:
    del history.of(SUMMIT_AGENTS)[-1]


def _inbox_twice(history: Logged) -> None:
    history.of(SUMMIT_INBOX).append(history.of(SUMMIT_INBOX)[5])


def _inbox_missing(history: Logged) -> None:
    del history.of(SUMMIT_INBOX)[5]


def _inbox_of_another(history: Logged) -> None:
    inbox = history.of(SUMMIT_INBOX)
    inbox[5] = inbox[5]._replace(key=b"somebody")


def _stop_missing(history: Logged) -> None:
    inbox = history.of(SUMMIT_INBOX)
    stops = (entry for entry in inbox if entry.value["delivery"]["kind"] == "stop")
    inbox.remove(next(stops))


def _told_twice(history: Logged) -> None:
    history.of(RTES_RAW).append(_summit(history, RTES_RAW, "origin", "summit"))


def _not_told(history: Logged) -> None:
    history.of(RTES_RAW).remove(_summit(history, RTES_RAW, "origin", "summit"))


def _told_of_another_session(history: Logged) -> None:
    _summit(history, RTES_RAW, "origin", "summit").value["session_id"] = "another"


def _edge_missing(history: Logged) -> None:
    edges = history.of(LINEAGE_EDGES)
    edges.remove(_summit(history, LINEAGE_EDGES, "relation", "answers"))


def _edge_twice(history: Logged) -> None:
    edge = _summit(history, LINEAGE_EDGES, "relation", "evaluates")
    history.of(LINEAGE_EDGES).append(edge)


def _edge_to_another(history: Logged) -> None:
    _summit(history, LINEAGE_EDGES, "relation", "child_of").value["to_node"] = "summit:run:run-0"


def _call_of_another(history: Logged) -> None:
    """What lies at the position of a call is not what was judged."""
    place = history.values(SUMMIT_RUNS)[0]["evidence"]["callPosition"]
    entry = next(entry for entry in history.of(SUMMIT_CALLS) if entry.place == place)
    entry.value["params"].setdefault("context", {})["lie"] = True


def _manifest_of_another(history: Logged) -> None:
    entry = history.of(SUMMIT_MANIFESTS)[0]
    entry.value["metadata"]["team"] = "another"


def _evidence_elsewhere(history: Logged) -> None:
    evidence = _row(history, "completed")["evidence"]
    evidence["replyPosition"] = evidence["callPosition"]


FAULTS: Mapping[Fault, str] = {
    _row_of_run: "row of run",
    _row_missing: "is missing",
    _row_of_nothing: "row of run run-0 has no facts",
    _milder: "verificationStatus is 'passed', not 'failed'",
    _error_of_another: "row of run",
    _row_of_agent: "rows of agent",
    _row_of_agent_missing: "rows of agent",
    _inbox_twice: "the inbox has 1 too many",
    _inbox_missing: "the inbox lacks 1",
    _inbox_of_another: "the inbox lacks 1",
    _stop_missing: "the inbox lacks 1",
    _told_twice: "RTES event",
    _not_told: "is missing",
    _told_of_another_session: "RTES event",
    _edge_missing: "does not draw",
    _edge_twice: "draws",
    _edge_to_another: "has another's id",
    _call_of_another: "the callHash of",
    _manifest_of_another: "has a hash that is not that of",
    _evidence_elsewhere: "the replyHash of",
}
"""Each with a part of the sentence that is said of it."""
