"""Faults of what a run of Summit has left besides its facts: rows, inboxes, RTES and lineage."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.e2e.outputs import Json
from tests.e2e.summit_history import Entry, Logged
from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.declarations import Topic
from topology.summit import SUMMIT_AGENTS, SUMMIT_CALLS, SUMMIT_INBOX, SUMMIT_MANIFESTS, SUMMIT_RUNS

Fault = Callable[[Logged], None]


def _row(found: Logged, state: str, **members: object) -> Json:
    """The first row of a run in this state that has these members."""
    rows = found.values(SUMMIT_RUNS)
    fits = (row for row in rows if {name: row.get(name) for name in members} == members)
    return next(row for row in fits if row["state"] == state)


def _summit(found: Logged, topic: Topic, member: str, value: object) -> Entry:
    """A record of rtes.raw or of lineage.edges."""
    return next(entry for entry in found.of(topic) if entry.value.get(member) == value)


def _row_of_run(found: Logged) -> None:
    _row(found, "completed")["metrics"]["tokens"] += 1


def _row_missing(found: Logged) -> None:
    del found.of(SUMMIT_RUNS)[-1]


def _row_of_nothing(found: Logged) -> None:
    entry = found.of(SUMMIT_RUNS)[0]
    found.of(SUMMIT_RUNS).append(entry._replace(key=b"run-0"))


def _milder(found: Logged) -> None:
    _row(found, "completed", verificationStatus="failed")["verificationStatus"] = "passed"


def _error_of_another(found: Logged) -> None:
    _row(found, "failed", reason="output.schema")["error"]["code"] = -32011


def _row_of_agent(found: Logged) -> None:
    found.of(SUMMIT_AGENTS)[0].value["state"] = "withdrawn"


def _row_of_agent_missing(found: Logged) -> None:
    del found.of(SUMMIT_AGENTS)[-1]


def _inbox_twice(found: Logged) -> None:
    found.of(SUMMIT_INBOX).append(found.of(SUMMIT_INBOX)[5])


def _inbox_missing(found: Logged) -> None:
    del found.of(SUMMIT_INBOX)[5]


def _inbox_of_another(found: Logged) -> None:
    inbox = found.of(SUMMIT_INBOX)
    inbox[5] = inbox[5]._replace(key=b"somebody")


def _stop_missing(found: Logged) -> None:
    inbox = found.of(SUMMIT_INBOX)
    stops = (entry for entry in inbox if entry.value["delivery"]["kind"] == "stop")
    inbox.remove(next(stops))


def _told_twice(found: Logged) -> None:
    found.of(RTES_RAW).append(_summit(found, RTES_RAW, "origin", "summit"))


def _not_told(found: Logged) -> None:
    found.of(RTES_RAW).remove(_summit(found, RTES_RAW, "origin", "summit"))


def _told_of_another_session(found: Logged) -> None:
    _summit(found, RTES_RAW, "origin", "summit").value["session_id"] = "another"


def _edge_missing(found: Logged) -> None:
    edges = found.of(LINEAGE_EDGES)
    edges.remove(_summit(found, LINEAGE_EDGES, "relation", "answers"))


def _edge_twice(found: Logged) -> None:
    edge = _summit(found, LINEAGE_EDGES, "relation", "evaluates")
    found.of(LINEAGE_EDGES).append(edge)


def _edge_to_another(found: Logged) -> None:
    _summit(found, LINEAGE_EDGES, "relation", "child_of").value["to_node"] = "summit:run:run-0"


def _call_of_another(found: Logged) -> None:
    """What lies at the position of a call is not what was judged."""
    place = found.values(SUMMIT_RUNS)[0]["evidence"]["callPosition"]
    entry = next(entry for entry in found.of(SUMMIT_CALLS) if entry.place == place)
    entry.value["params"].setdefault("context", {})["lie"] = True


def _manifest_of_another(found: Logged) -> None:
    entry = found.of(SUMMIT_MANIFESTS)[0]
    entry.value["metadata"]["team"] = "another"


def _evidence_elsewhere(found: Logged) -> None:
    evidence = _row(found, "completed")["evidence"]
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
