"""Every accepted task goes a legal way, once, and everything that is said of it agrees."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise

from schemas import canonical_json, sap
from tests.e2e.findings import differences, repeated
from tests.e2e.outputs import Json
from tests.e2e.sap_check_commands import AGENT_RULES
from tests.e2e.sap_history import SapHistory, admissions
from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.sap import (
    SAP_ACKS,
    SAP_INBOX,
    SAP_OUTCOMES,
    SAP_RESULTS,
    SAP_SIGNALS,
    SAP_TASK_STATES,
    SAP_TASKS,
    SAP_VERDICTS,
)

ENDS = frozenset({"SUCCEEDED", "FAILED", "CANCELLED", "ESCALATED"})
_OPEN: Mapping[str, frozenset[str]] = {
    "QUEUED": frozenset({"RUNNING", *ENDS}),
    "RUNNING": frozenset({"RUNNING", "PARTIAL", *ENDS}),
    "PARTIAL": frozenset({"RUNNING", *ENDS}),
}
_BY_RULE: Mapping[str, tuple[str, frozenset[str]]] = {
    "cache_hit": ("SUCCEEDED", frozenset({"QUEUED"})),
    "cache_only_miss": ("FAILED", frozenset({"QUEUED"})),
    "precheck_refused": ("FAILED", frozenset({"QUEUED"})),
    "precheck_escalated": ("ESCALATED", frozenset({"QUEUED"})),
    "deadline_passed": ("FAILED", frozenset(_OPEN)),
    "cancelled_by_signal": ("CANCELLED", frozenset(_OPEN)),
    "alignment_refused": ("FAILED", frozenset(_OPEN)),
    "alignment_escalated": ("ESCALATED", frozenset(_OPEN)),
}
_KEPT = (
    "state",
    "outcomeSeq",
    "position",
    "taskSha256",
    "dispatched",
    "hitVersion",
    "storedVersion",
    "accepted",
)
"""Of a row, what is added up here."""
Outcomes = dict[str, list[Json]]


def check(history: SapHistory) -> Iterator[str]:
    outcomes: Outcomes = defaultdict(list)
    for outcome in history.values(SAP_OUTCOMES):
        outcomes[outcome["taskId"].lower()].append(outcome)
    accepted = {
        ack["taskId"].lower(): ack
        for ack in history.values(SAP_ACKS)
        if ack["subject"] == "TASK" and ack["verdict"] == "accepted"
    }
    yield from (f"an outcome of {one}, never accepted" for one in outcomes.keys() - accepted.keys())
    for task_id in accepted:
        yield from _path(task_id, outcomes[task_id])
    yield from _caused(history, outcomes)
    yield from _reported(history, outcomes)
    yield from _delivered(history, accepted, outcomes)
    yield from _rows(history, accepted, outcomes)
    yield from _transitions(history, accepted, outcomes)
    yield from _edges(history, outcomes)


def meta(outcome: Json) -> Json:
    headrace_meta: Json = outcome["meta"]["headrace"]
    return headrace_meta


def _path(task_id: str, outcomes: list[Json]) -> Iterator[str]:
    """Outcomes are numbered 1, 2, …; each is a move from the state before, the end is the end."""
    state = "QUEUED"
    for number, outcome in enumerate(outcomes, 1):
        status, rule = outcome["status"], meta(outcome)["rule"]
        if meta(outcome)["seq"] != number:
            yield f"outcome {number} of {task_id} says that it is {meta(outcome)['seq']}"
        if status not in _OPEN.get(state, ()):
            yield f"task {task_id} goes from {state} to {status}"
        end, starts = _BY_RULE.get(rule, (status, frozenset(_OPEN)))
        if status != end or state not in starts:
            yield f"task {task_id} goes from {state} to {status} by {rule}"
        if rule not in _BY_RULE and rule != "agent_status":
            yield f"outcome {number} of {task_id} has rule {rule}"
        state = status


def _accepted(history: SapHistory, subject: str) -> set[str]:
    return {
        ack["position"]
        for ack in history.values(SAP_ACKS)
        if ack["subject"] == subject and ack["verdict"] == "accepted"
    }


def _caused(history: SapHistory, outcomes: Outcomes) -> Iterator[str]:
    """Each accepted result and cancel has its outcome, and each outcome what it comes of."""
    causes: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in (one for many in outcomes.values() for one in many):
        rule = meta(outcome)["rule"]
        causes["agent" if rule in AGENT_RULES else rule][meta(outcome)["cause"]] += 1
    cancels = {
        entry.place
        for entry in history.of(SAP_SIGNALS)
        if entry.json is not None and entry.json.get("kind") == "cancel"
    }
    verdicts = {entry.place: entry.value["verdict"] for entry in history.of(SAP_VERDICTS)}
    verdicts |= dict.fromkeys(admissions(history), "hit")
    yield from differences(
        "outcomes of result", causes["agent"], Counter(_accepted(history, "RESULT"))
    )
    expected = Counter(_accepted(history, "SIGNAL") & cancels)
    yield from differences("outcomes of cancel", causes["cancelled_by_signal"], expected)
    for cause, count in causes["cache_hit"].items():
        if verdicts.get(cause) != "hit" or count != 1:
            yield f"{count} hits by {cause}, which is {verdicts.get(cause)}"
    for cause in causes["cache_only_miss"]:
        if verdicts.get(cause) not in ("miss", "stale", "misaligned"):
            yield f"a CACHE_MISS by {cause}, which is {verdicts.get(cause)}"


def _reported(history: SapHistory, outcomes: Outcomes) -> Iterator[str]:
    """An outcome of a result is that result, unless the service refused its output."""
    results = history.at(SAP_RESULTS)
    for outcome in (one for many in outcomes.values() for one in many):
        headrace_meta = meta(outcome)
        if headrace_meta["rule"] not in AGENT_RULES or headrace_meta["cause"] not in results:
            continue
        result = results[headrace_meta["cause"]].value
        if headrace_meta["resultSha256"] != sap.envelope_hash(result):
            yield f"the outcome of {headrace_meta['cause']} has another result's hash"
        output = None if headrace_meta["rule"] == "alignment_refused" else result.get("output")
        if _bytes(outcome.get("output")) != _bytes(output):
            yield f"the outcome of {headrace_meta['cause']} has another output"
        if outcome["producer"]["agentId"] != result["producer"]["agentId"]:
            yield f"the outcome of {headrace_meta['cause']} has another producer"


def _bytes(value: object) -> bytes:
    return canonical_json(value)


def _delivered(history: SapHistory, accepted: dict[str, Json], outcomes: Outcomes) -> Iterator[str]:
    """An agent is asked once, with the task as it was sent, and never for what the cache had."""
    sent = history.at(SAP_TASKS)
    inbox_ids = [task["taskId"].lower() for task in history.values(SAP_INBOX)]
    yield from repeated("inbox task", inbox_ids)
    for task in history.values(SAP_INBOX):
        task_id = task["taskId"].lower()
        ack = accepted.get(task_id)
        if ack is None:
            yield f"an agent was asked for {task_id}, which was never accepted"
            continue
        if sap.envelope_hash(_without_nulls(task)) != ack["envelopeSha256"]:
            yield f"an agent was given another task than {task_id}"
        if ack["accepted"]["mode"] == "only":
            yield f"an agent was asked for {task_id}, which only the cache was to answer"
        rules = {meta(one)["rule"] for one in outcomes[task_id]}
        if rules & {"cache_hit", "cache_only_miss", "precheck_refused", "precheck_escalated"}:
            yield f"an agent was asked for {task_id} in spite of {rules}"
    for ack in accepted.values():
        if ack["accepted"]["mode"] == "bypass" and ack["position"] in sent:
            rules = {meta(one)["rule"] for one in outcomes[ack["taskId"].lower()]}
            if ack["taskId"].lower() not in inbox_ids and "precheck_refused" not in rules:
                yield f"no agent was asked for {ack['taskId']}, which bypasses the cache"


def _without_nulls(task: Json) -> Json:
    return {name: value for name, value in task.items() if value is not None}


def _rows(history: SapHistory, accepted: dict[str, Json], outcomes: Outcomes) -> Iterator[str]:
    """A row is what the acks, the outcomes and the verdicts of its task add up to."""
    rows = history.rows(SAP_TASK_STATES)
    inbox_ids = {task["taskId"].lower() for task in history.values(SAP_INBOX)}
    stored = {
        verdict["taskId"].lower(): verdict["version"]
        for verdict in history.values(SAP_VERDICTS)
        if verdict["verdict"] == "stored"
    }
    actual = {
        task_id: {name: row[name] for name in _KEPT} | {"closed": row["closedAt"] is not None}
        for task_id, row in rows.items()
    }
    expected = {}
    for task_id, ack in accepted.items():
        mine = outcomes[task_id]
        hits = [one for one in mine if meta(one)["rule"] == "cache_hit"]
        state = mine[-1]["status"] if mine else "QUEUED"
        expected[task_id] = {
            "state": state,
            "outcomeSeq": len(mine),
            "position": ack["position"],
            "taskSha256": ack["envelopeSha256"],
            "dispatched": task_id in inbox_ids,
            "closed": state in ENDS,
            "hitVersion": hits[0]["constitutionalEvidence"]["cache"]["version"] if hits else None,
            "storedVersion": stored.get(task_id),
            "accepted": ack["accepted"],
        }
    yield from differences("row of task", actual, expected)


def _transitions(
    history: SapHistory, accepted: dict[str, Json], outcomes: Outcomes
) -> Iterator[str]:
    """Every change of state is told to RTES, once and in order."""
    transitions: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for entry in history.of(RTES_RAW):
        if entry.json is not None and entry.json["payload"]["type"] == "TASK_TRANSITION":
            one = entry.json["payload"]
            transitions[one["task_id"]].append((one["from_state"], one["to_state"]))
    expected = {}
    for task_id in accepted:
        states = ["none", "QUEUED", *(one["status"] for one in outcomes[task_id])]
        moves = pairwise(states)
        expected[task_id] = [(one, other) for one, other in moves if one != other]
    yield from differences("transitions of task", transitions, expected)


def _edges(history: SapHistory, outcomes: Outcomes) -> Iterator[str]:
    answers = Counter(
        (edge["from_node"], edge["to_node"])
        for edge in history.values(LINEAGE_EDGES)
        if edge["relation"] == "answers" and edge["from_node"].startswith("sap:")
    )
    expected = Counter(
        (f"sap:outcome:{task_id}/{meta(one)['seq']}", f"sap:task:{task_id}")
        for task_id, many in outcomes.items()
        for one in many
    )
    yield from differences("edge", answers, expected)
