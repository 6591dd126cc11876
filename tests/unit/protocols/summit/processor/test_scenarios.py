"""The scenarios of Summit: what the guide says of each, with their restarts and without.

That a restart after any line changes nothing is tested of all scenarios in `tests.unit.play`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from schemas import uuid5_url
from tests.unit.processing.scenarios import Scenarios, in_any_order, records

Json = dict[str, Any]


class Expected(NamedTuple):
    """What a scenario brings about, in log order.

    facts: key and rule.  refused: rules of the edge.  letters: why records became dead letters.
    answers: HTTP statuses of its queries.
    """

    facts: str
    refused: str = ""
    letters: str = ""
    answers: str = ""


EXPECTED = {
    "run": Expected(
        facts=(
            "word-stats:manifest.accepted run-7f2:call.accepted run-7f2:reply.progress "
            "run-7f2:reply.result run-7f2:call.duplicate run-7f2:reply.duplicate "
            "run-8:call.accepted run-7f2:tree.not_entitled run-8:reply.result "
            "run-7f2:tree.unlinked run-8:call.duplicate"
        ),
        answers="200 200 200 200 200 200 200 200 200",
    ),
    "manifests": Expected(
        facts=(
            "r0:agent.unknown word-stats:manifest.accepted word-stats:manifest.duplicate "
            "r1:call.accepted word-stats:manifest.version_conflict "
            "word-stats:manifest.accepted r2:call.accepted word-stats:manifest.role "
            "other:key.mismatch r3:call.accepted word-stats:manifest.accepted "
            "r4:call.accepted word-stats:manifest.withdrawn "
            "word-stats:manifest.not_registered nobody:manifest.not_registered "
            "r5:agent.withdrawn r1:reply.result r2:reply.result "
            "word-stats:manifest.accepted r6:call.accepted"
        ),
        answers="200 200 404 200",
    ),
    "calls": Expected(
        facts=(
            "word-stats:manifest.accepted r1:call.accepted r1:call.duplicate "
            "r1:run.conflict r1:run.conflict r2:agent.unknown r2:inputs.schema "
            "r2:call.accepted r3:tool.unknown r3:inputs.schema r3:call.accepted "
            "r1:tree.linked r3:reply.progress r3:reply.result r1:tree.spent "
            "r4:call.accepted r1:tree.linked r4:reply.error r1:tree.spent "
            "r3:call.duplicate"
        ),
        answers="200 200 200 404 200 200",
    ),
    "cancel": Expected(
        facts=(
            "word-stats:manifest.accepted r1:run.unknown r1:call.accepted "
            "r1:cancel.not_caller r1:cancel.not_caller r1:cancel.agent r1:cancel.accepted "
            "r1:cancel.duplicate r1:run.terminal r2:call.accepted r2:reply.progress "
            "r2:cancel.accepted r3:call.accepted r3:cancel.accepted r4:call.accepted "
            "r4:reply.result r4:run.terminal r5:call.accepted r5:cancel.accepted"
        ),
        answers="200 200",
    ),
    "replies": Expected(
        facts=(
            "word-stats:manifest.accepted r1:call.accepted r1:status.value "
            "r2:call.accepted r2:metrics.missing r3:call.accepted r3:metrics.value "
            "r4:call.accepted r4:provenance.missing r5:call.accepted r5:provenance.value "
            "r6:call.accepted r6:verification.value r7:call.accepted r7:output.value "
            "r8:call.accepted r8:output.value r9:call.accepted r9:output.schema "
            "r10:call.accepted r10:error.value r11:call.accepted r11:error.value "
            "r12:call.accepted r12:budget.none r13:call.accepted r13:status.value "
            "r14:call.accepted r14:reply.error p1:call.accepted p1:reply.agent "
            "p1:metrics.missing p1:reply.progress p1:reply.duplicate p1:reply.conflict "
            "p1:reply.shape p1:reply.result p1:run.terminal p9:run.unknown"
        ),
        answers="200 200 200 200",
    ),
    "json-rpc": Expected(
        facts=(
            "deep-researcher:manifest.accepted run-12345:call.accepted "
            "run-12345:reply.result run-12345:reply.duplicate run-2:call.accepted "
            "run-2:reply.error run-3:call.accepted run-3:budget.agent_stop"
        ),
        refused="reply.shape reply.shape",
        answers="202 200 200 200",
    ),
    "budgets": Expected(
        facts=(
            "word-stats:manifest.accepted m1:call.accepted m1:reply.progress "
            "m1:reply.result m2:call.accepted m2:reply.progress m2:reply.result "
            "m3:call.accepted m3:reply.progress m3:budget.usd m4:call.accepted "
            "m4:reply.progress m4:budget.usd m5:call.accepted m5:reply.progress "
            "m5:reply.result m6:call.accepted m6:reply.result m7:call.accepted "
            "m7:reply.result m8:call.accepted m8:budget.tokens m9:call.accepted "
            "m9:reply.result p1:call.accepted p1:budget.usd p1:run.terminal "
            "e1:call.accepted e1:budget.agent_stop e2:call.accepted e2:budget.none "
            "e3:call.accepted e3:budget.usd"
        ),
        answers="200 200",
    ),
    "time": Expected(
        facts=(
            "word-stats:manifest.accepted t1:call.accepted t2:call.accepted "
            "t3:call.accepted t3:reply.progress t4:call.accepted t5:call.accepted "
            "t6:call.accepted t6:budget.seconds t1:budget.seconds t3:reply.result "
            "t5:budget.seconds t1:run.terminal t2:run.timeout t2:run.terminal "
            "t4:cancel.accepted t1:run.conflict"
        ),
        answers="200 200 200 200",
    ),
    "overdue": Expected(
        facts=(
            "word-stats:manifest.accepted o1:call.accepted o2:call.accepted "
            "o3:call.accepted o4:call.accepted o1:reply.result o2:budget.seconds "
            "o2:run.terminal o3:budget.seconds o4:budget.seconds o3:run.terminal "
            "o4:run.terminal"
        ),
    ),
    "judging": Expected(
        facts=(
            "word-stats:manifest.accepted reader:manifest.accepted "
            "second:manifest.accepted j1:call.accepted j1:judge.not_completed "
            "j1:reply.result j1:judge.not_critic j1:judge.not_critic "
            "j1:verification.value j1:reply.verification j1:reply.duplicate "
            "j1:judge.already j2:call.accepted j2:reply.result j2:judge.self "
            "second:manifest.withdrawn j2:judge.not_critic"
        ),
        answers="200 200",
    ),
    "bad-input": Expected(
        facts=(
            "word-stats:manifest.accepted r_1:params.run_id r1:params.agent_id "
            "r1:budget.value r1:context.parent r1:rpc.id_required r1:caller.value "
            "other:key.mismatch r1:key.mismatch r1:call.accepted r1:reply.shape "
            "r1:reply.shape r1:reply.shape r2:key.mismatch r1:reply.progress "
            "r1:cancel.accepted r2:agent.unknown"
        ),
        refused="params.run_id budget.key rpc.method",
        letters="schema_unknown null_value null_value frame_unknown",
        answers="200 422 200 200 200 200 200",
    ),
}

SUMMIT = Scenarios("summit")
outputs, of = SUMMIT.outputs, SUMMIT.of
INPUTS = ("summit.manifests", "summit.calls", "summit.replies")


def summary(all_outputs: list[Json]) -> Expected:
    facts, refused, letters, statuses = [], [], [], []
    for output in all_outputs:
        topic = str(output.get("topic"))
        if topic == "summit.events":
            key = output["key"].replace(" ", "_")
            facts.append(f"{key}:{output['value']['rule']}")
        elif topic.endswith(".dlq"):
            letters.append(output["headers"]["kafka_dlt-exception-fqcn"])
        elif "query" in output:
            statuses.append(str(output["status"]))
        elif "rejected" in output:
            refused.append(output["rejected"]["rule"])
    return Expected(*map(" ".join, (facts, refused, letters, statuses)))


def ours(name: str) -> Expected:
    return summary(list(outputs(name)))


def values(name: str, topic: str) -> list[Json]:
    return [output["value"] for output in of(name, topic)]


@pytest.mark.parametrize("name", EXPECTED)
def test_a_scenario_brings_about_what_the_spec_says(name: str) -> None:
    for part, expected_part in zip(ours(name), EXPECTED[name], strict=True):
        assert part.split() == expected_part.split()


def test_every_scenario_is_expected() -> None:
    assert SUMMIT.names == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_without_its_restarts_a_scenario_is_the_same(name: str) -> None:
    assert records(SUMMIT.without_restarts(name)) == records(list(outputs(name)))


@pytest.mark.parametrize("name", EXPECTED)
def test_more_partitions_change_no_verdict(name: str) -> None:
    """Positions and the order between runs differ; what is decided does not."""
    assert in_any_order(ours(name)) == in_any_order(summary(SUMMIT.spread(name)))


@pytest.mark.parametrize("name", EXPECTED)
def test_every_decodable_record_has_one_fact(name: str) -> None:
    facts = values(name, "summit.events")
    positions = [
        fact["cause"]
        for fact in facts
        if fact["eventId"] == f"{fact['cause']}/0" or fact["subject"] == "tree"
    ]
    fired = [fact["eventId"] for fact in facts if fact["verdict"] == "fired"]
    assert len(positions) + len(fired) == len(facts)
    assert len(set(positions)) == len(positions)
    assert len(set(fired)) == len(fired)
    assert all(fact["eventId"].endswith("/timeout") for fact in facts if fact["verdict"] == "fired")
    letters = ours(name).letters.split()
    for topic in INPUTS:
        offsets = [int(p.rpartition("/")[2]) for p in positions if p.startswith(f"{topic}/")]
        lost = sum(of_topic(o) == topic for o in outputs(name))
        assert len(offsets) == (max(offsets) + 1 - lost if offsets else 0)
    assert len(letters) == sum(of_topic(o) is not None for o in outputs(name))


def of_topic(output: Json) -> str | None:
    """Whose dead letter an output is."""
    topic = str(output.get("topic"))
    return topic.removesuffix(".dlq") if topic.endswith(".dlq") else None


@pytest.mark.parametrize("name", EXPECTED)
def test_rtes_hears_of_every_move(name: str) -> None:
    facts = [f for f in values(name, "summit.events") if f["toState"] and f["runId"]]
    events = [v for v in values(name, "rtes.raw") if v["payload"]["type"] == "TASK_TRANSITION"]
    moves = [(v["payload"]["task_id"], v["payload"]["to_state"]) for v in events]
    assert moves == [(f["runId"], f["toState"]) for f in facts]
    ids = [v["event_id"] for v in events]
    assert ids == [uuid5_url(f"headrace:summit:{f['eventId']}:0") for f in facts]
    recorded = [o["value"] for o in of(name, "rtes.events")]
    assert len(recorded) == len(of(name, "rtes.raw")), "RTES takes every one of them"


def test_who_is_told_to_stop() -> None:
    stops = {
        v["params"]["runId"]: v["delivery"]["reason"]
        for name in ("cancel", "budgets", "time", "overdue", "replies")
        for v in values(name, "summit.inbox")
        if v["delivery"]["kind"] == "stop"
    }
    times = dict.fromkeys(("t1", "t5", "t6", "o2", "o3", "o4"), "budget.seconds")
    cancelled = dict.fromkeys(("r1", "r2", "r3", "r5", "t4"), "cancel.accepted")
    assert stops == {**cancelled, **times, "p1": "budget.usd", "t2": "run.timeout"}


def test_tools_end_as_their_runs_do() -> None:
    ends = [
        (v["payload"]["call_id"], v["payload"]["status"])
        for name in ("calls", "cancel", "time")
        for v in values(name, "rtes.raw")
        if v["payload"]["type"] == "TOOL_LIFECYCLE_COMPLETED"
    ]
    assert ends == [
        ("r3/c-1", "success"),
        ("r4/c%2F2", "failure"),
        ("r5/c-1", "failure"),
        ("t5/c-1", "timeout"),
    ]


def test_what_was_refused_is_shown_nowhere() -> None:
    refused = [f for f in values("replies", "summit.events") if f["rule"].startswith("output.")]
    assert len(refused) == 3
    assert all(f["output"] is None for f in refused)
    bodies = [o["body"] for o in outputs("replies") if "query" in o]
    assert "six" not in str(bodies)
    hashes = [row["evidence"]["outputHash"] for row in bodies[0]["items"]]
    assert len([h for h in hashes if h is not None]) == 8


def test_a_run_over_http() -> None:
    pending, result = [o["body"] for o in outputs("run") if "POST" in str(o.get("query"))][-2:]
    assert pending["error"]["data"]["rule"] == "run.pending"
    assert result == {
        "jsonrpc": "2.0",
        "id": "again",
        "result": {
            "status": "completed",
            "output": {"words": 6, "top": ["be", "to", "not"]},
            "metrics": {"tokens": 0, "latency_ms": 3, "cost_usd": 0},
            "provenance": {"model": "none", "timestamp": "2026-03-02T09:00:00.410Z"},
        },
    }
