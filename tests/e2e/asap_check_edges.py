"""The lineage graph has the edges that the facts stand for, each by its own decision, once.

Source: ASAP guide, 5.7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256

from tests.e2e.asap_fold import Fold
from tests.e2e.asap_history import AsapHistory, Entry
from tests.e2e.outputs import Json
from topology.asap import ASAP_EVENTS

Edge = tuple[str, str, str]


def check(edges: Sequence[Entry], history: AsapHistory, fold: Fold) -> Iterator[str]:
    """edges: of lineage.edges."""
    drawn: Counter[tuple[str, Edge]] = Counter()
    for entry in edges:
        value = entry.value
        ends = value["from_node"], value["relation"], value["to_node"]
        if value["edge_id"] != sha256("|".join(ends).encode()).hexdigest():
            yield f"the edge {ends} has another's id"
        if ends[0].startswith("asap:"):
            drawn[(entry.cause, ends)] += 1
    owed = Counter(
        (fact["cause"], edge)
        for fact in history.values(ASAP_EVENTS)
        for edge in dict.fromkeys(_edges(fact, fold))
    )
    yield from (f"{cause} does not draw {edge}" for cause, edge in owed - drawn)
    yield from (f"{cause} draws {edge}" for cause, edge in drawn - owed)


def _node(kind: str, *parts: str) -> str:
    return f"asap:{kind}:" + "/".join(p.replace("%", "%25").replace("/", "%2F") for p in parts)


def _edges(fact: Json, fold: Fold) -> Iterator[Edge]:
    node = None if fact["envelope_id"] is None else _node("envelope", fact["envelope_id"])
    if node is not None and fact["rule"] == "same_idempotency_key":
        yield node, "part_of", _node("task", fact["task_id"])
    if fact["kind"] == "expired" and fact["snapshot_version"] is not None:
        saved = _node("snapshot", fact["task_id"], str(fact["snapshot_version"]))
        yield saved, "part_of", _node("task", fact["task_id"])
    if node is None or fact["kind"] != "envelope" or fact["verdict"] != "accepted":
        return
    if fact["call_key"] is not None:
        yield from _of_call(fact, node, fold)
        return
    task, envelope = _node("task", fact["task_id"]), fact["envelope"]
    yield node, "part_of", task
    about = (envelope["extensions"] or {}).get("dev.headrace.answers") or envelope["correlation_id"]
    if about:
        yield node, "answers", _node("envelope", about)
    if fact["rule"] == "task_created":
        yield from _created(fact, task)
    elif fact["rule"] == "task_cancelled":
        yield node, "retracts", task
    elif fact["rule"] == "artifact_noted":
        artifact = envelope["payload"]["artifact_id"]
        yield _node("artifact", fact["task_id"], artifact), "derived_from", task
    elif fact["snapshot_version"] is not None:
        saved = _node("snapshot", fact["task_id"], str(fact["snapshot_version"]))
        if fact["rule"] == "state_restored":
            old = str(fact["figures"]["restored_from"])
            yield saved, "restores", _node("snapshot", fact["task_id"], old)
        else:
            yield saved, "part_of", task
            yield saved, "derived_from", node


def _created(fact: Json, task: str) -> Iterator[Edge]:
    payload = fact["envelope"]["payload"]
    yield task, "part_of", _node("conversation", payload["conversation_id"])
    if payload["parent_task_id"]:
        yield task, "child_of", _node("task", payload["parent_task_id"])
    if fact["envelope"]["trace_id"]:
        yield task, "same_trace", "trace:" + fact["envelope"]["trace_id"]


def _of_call(fact: Json, node: str, fold: Fold) -> Iterator[Edge]:
    call, envelope = _node("call", fact["call_key"]), fact["envelope"]
    if fact["rule"] == "call_answered":
        request_id = fold.calls[fact["call_key"]].envelope["id"]
        yield node, "answers", _node("envelope", request_id)
        return
    if envelope["trace_id"]:
        yield call, "same_trace", "trace:" + envelope["trace_id"]
    if envelope["correlation_id"]:
        yield call, "part_of", _node("task", envelope["correlation_id"])
