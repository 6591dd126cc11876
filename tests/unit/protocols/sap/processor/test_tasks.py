"""What becomes of a Task record: each check in its order, and everything an acceptance writes."""

from __future__ import annotations

from decimal import Decimal
from hashlib import sha256
from pathlib import Path

import pytest

from schemas import sap
from streams.protocols.sap.processor import tasks
from streams.protocols.sap.processor.authorization import bind, parse
from streams.protocols.sap.processor.rate_limit import Bucket, Limit
from tests.unit.protocols.sap.processor.support import (
    CORRELATION,
    START_MS,
    TASK,
    Bench,
    Json,
    derived,
    result,
    signal,
    task,
    uuid,
)
from topology.core import LINEAGE_EDGES
from topology.keys import partition_of
from topology.sap import (
    SAP_ACKS,
    SAP_INBOX,
    SAP_LOOKUPS,
    SAP_OUTCOMES,
    SAP_TASK_ENVELOPES,
    SAP_TASK_STATES_TABLE,
    SAP_TASKS,
)

NOBODY = b'[[allow]]\ncapability = "other"\nkinds = ["agent"]'


@pytest.fixture
def closed_door(tmp_path: Path) -> Path:
    """An issuer table that knows agents, but for another capability."""
    path = tmp_path / "issuers.toml"
    path.write_bytes(NOBODY)
    bind(path)
    return path


def test_each_check_comes_before_the_next(closed_door: Path) -> None:
    """A record that breaks two rules gets the earlier one."""
    bench = Bench(2, sap_rate=Decimal(1), sap_authorization=closed_door)
    away = 1 - partition_of(TASK.encode(), 2)
    assert bench.task(task(issuedAt="now"), key="x", partition=away)["rule"] == "bad_timestamp"
    assert bench.task(key="x", partition=away)["rule"] == "key_mismatch"
    assert bench.task(partition=away)["rule"] == "partition_mismatch"
    assert bench.task()["rule"] == "forbidden"


def test_a_secret_comes_before_a_known_id() -> None:
    bench = Bench()
    bench.task()
    secret = task(payload={"key": "AKIA" + "A1" * 8})
    assert bench.task(secret)["rule"] == "payload_secret"
    assert bench.task(secret, key="x")["rule"] == "key_mismatch"
    assert bench.task(task(payload={"key": "another"}))["rule"] == "task_id_conflict"


def test_a_known_id_comes_before_authorisation_and_the_limit() -> None:
    row = {"taskSha256": "a", "position": "sap.tasks/0/0"}
    door, limit, spent = parse(NOBODY), Limit(1, 1_000_000), Bucket(0, 0)
    facts = tasks.Facts(row, door, limit, spent, 0)
    codes = [
        None if check.verdict is None else check.verdict.rule
        for check in tasks.checks(task(), "b", facts)
    ]
    assert codes == [None, "task_id_conflict", "forbidden", "rate_limited"]
    _, known, *_ = tasks.checks(task(), "a", facts)
    same = known.verdict
    assert same is not None
    assert (same.rule, same.duplicate_of) == ("duplicate", "sap.tasks/0/0")


def test_an_accepted_task_with_everything_it_writes() -> None:
    bench = Bench()
    value = task(parentTaskId=uuid(5).upper(), replyTo={"endpoint": "bus:prime"})
    ack = bench.task(value)
    cause = "sap.tasks/0/0"
    key = sap.cache_key(value, ())
    accepted: Json = {
        "mode": "bypass",
        "maxAgeSec": None,
        "mustAlign": True,
        "cacheKey": key.key,
        "fingerprint": key.fingerprint,
        "removedKeys": [],
        "policy": {
            "heuristicsVersion": 0,
            "extractorVersion": 0,
            "thresholds": {},
            "extraChecks": [],
        },
        "deadlineAt": None,
    }
    assert {k: v for k, v in ack.items() if v not in (None, [])} == {
        "ackId": derived(cause, 0),
        "subject": "TASK",
        "messageId": TASK,
        "taskId": TASK,
        "correlationId": CORRELATION,
        "status": "ACK",
        "verdict": "accepted",
        "rule": "accepted",
        "envelopeSha256": sap.envelope_hash(value),
        "position": cause,
        "accepted": accepted,
        "constitution": ack["constitution"],
        "at": "2026-01-01T00:00:00.000Z",
    }
    (sent,) = bench.of(SAP_ACKS)
    assert (sent.key, sent.headers) == (TASK, (("headrace-reply-to", b"bus:prime"),))
    assert bench.moves() == [("none", "QUEUED")]
    node = f"sap:task:{TASK}"
    assert bench.edges() == {
        (node, "same_trace", f"trace:{CORRELATION}"),
        (node, "child_of", f"sap:task:{uuid(5)}"),
    }
    assert bench.outcomes() == []
    row = bench.row()
    assert (row["state"], row["cacheState"], row["dispatched"]) == ("QUEUED", "none", True)
    assert (row["position"], row["taskSha256"]) == (cause, ack["envelopeSha256"])
    assert (row["acceptedAt"], row["updatedAt"]) == (START_MS, START_MS)


def test_edges_have_the_hash_of_what_they_say() -> None:
    bench = Bench()
    bench.task()
    (sent,) = bench.of(LINEAGE_EDGES)
    text = "|".join((sent.value["from_node"], sent.value["relation"], sent.value["to_node"]))
    assert sent.key == sent.value["edge_id"] == sha256(text.encode()).hexdigest()
    assert (sent.value["at"], sent.value["cause"]) == (START_MS, "sap.tasks/0/0")


@pytest.mark.parametrize(
    ("target", "key"),
    [({"agentId": "A-ml-001"}, "A-ml-001"), ({}, "report.summarise")],
)
def test_dispatch_hands_the_task_on_as_it_was_sent(target: Json, key: str) -> None:
    bench = Bench()
    value = task(target=target, payload={"b": 1.0, "a": [None, "é"]}, more={"x": None})
    bench.task(value)
    (sent,) = bench.of(SAP_INBOX)
    assert (sent.key, sent.json) == (key, value)
    row = bench.row()
    assert dict(sent.headers) == {
        "headrace-cache-key": row["accepted"]["cacheKey"].encode(),
        "headrace-heuristics": b"0",
    }
    assert bench.row(SAP_TASK_ENVELOPES) == sent.value


@pytest.mark.parametrize(
    ("telemetry", "priority"),
    [
        ({"priority": "urgent"}, b"urgent"),
        ({"priority": "normal"}, b"normal"),
        ({"priority": None}, None),
        ({"trace": True}, None),
        (None, None),
    ],
)
def test_the_inbox_says_the_priority_that_a_task_has(
    telemetry: Json | None, priority: bytes | None
) -> None:
    bench = Bench()
    bench.task(task(telemetry=telemetry))
    (sent,) = bench.of(SAP_INBOX)
    assert dict(sent.headers).get("headrace-priority") == priority


@pytest.mark.parametrize("mode", ["prefer", "only"])
def test_the_cache_is_asked_first(mode: str) -> None:
    bench = Bench()
    deadline = {"deadline": "2026-01-01T01:00:00Z"}
    policy = {"mode": mode, "maxAgeSec": 90, "mustAlign": False}
    value = task(constitutionalContext={"cachePolicy": policy}, telemetry=deadline)
    ack = bench.task(value)
    (lookup,) = bench.lookups()
    assert lookup == {
        "at": "2026-01-01T00:00:00.000Z",
        "lookupId": derived("sap.tasks/0/0", 2),
        "op": "READ",
        "cacheKey": ack["accepted"]["cacheKey"],
        "taskId": TASK,
        "correlationId": CORRELATION,
        "mode": mode,
        "maxAgeSec": 90,
        "mustAlign": False,
        "deadlineAt": "2026-01-01T01:00:00.000Z",
        "policy": ack["accepted"]["policy"],
        "task": value,
        "draft": None,
        "reason": ack["constitution"],
    }
    (sent,) = bench.of(SAP_LOOKUPS)
    assert sent.key == lookup["cacheKey"]
    assert (bench.row()["cacheState"], bench.row()["dispatched"]) == ("lookup", False)
    assert bench.inbox() == []


@pytest.mark.parametrize(
    ("policy", "mode"), [(None, "bypass"), ({}, "prefer"), ({"mode": "bypass"}, "bypass")]
)
def test_the_effective_mode(policy: Json | None, mode: str) -> None:
    bench = Bench()
    ack = bench.task(task(constitutionalContext={"cachePolicy": policy}))
    assert (ack["accepted"]["mode"], ack["accepted"]["mustAlign"]) == (mode, True)
    assert bool(bench.lookups()) == (mode != "bypass")


def test_the_same_envelope_again_is_a_duplicate() -> None:
    bench = Bench()
    bench.task()
    before, count = bench.stored(), len(bench.sent)
    again = task(taskId=TASK.upper(), correlationId=CORRELATION.upper(), parentTaskId=None)
    ack = bench.task(again, START_MS + 5, key=TASK)
    assert (ack["status"], ack["verdict"], ack["rule"]) == ("ACK", "duplicate", "duplicate")
    assert (ack["duplicateOf"], ack["accepted"], ack["code"]) == ("sap.tasks/0/0", None, None)
    assert ack["messageId"] == TASK.upper()
    assert (bench.stored(), len(bench.sent)) == (before, count + 1)


def test_other_content_under_a_known_id_is_a_conflict() -> None:
    bench = Bench()
    bench.task()
    before = bench.stored()
    ack = bench.task(task(tags=["other"]))
    assert (ack["status"], ack["rule"], ack["code"]) == (
        "NACK",
        "task_id_conflict",
        "UNPROCESSABLE",
    )
    assert ack["figures"]["position"] == "sap.tasks/0/0"
    assert "sap.tasks/0/0" in ack["reason"]
    assert bench.stored() == before


def test_ids_are_kept_as_sent_and_compared_in_lower_case() -> None:
    bench = Bench()
    ack = bench.task(task(taskId=TASK.upper(), correlationId=CORRELATION.upper()), key=TASK)
    assert (ack["messageId"], ack["taskId"]) == (TASK.upper(), TASK)
    assert bench.inbox()[0]["taskId"] == TASK.upper()
    bench.result(result("SUCCEEDED"))
    assert bench.state == "SUCCEEDED"
    (sent,) = bench.of(SAP_OUTCOMES)
    assert (sent.key, sent.value["taskId"]) == (TASK, TASK)


@pytest.mark.parametrize("key", [None, b"\xff", "wrong", TASK.upper(), ""])
def test_a_wrong_key(key: str | bytes | None) -> None:
    bench = Bench()
    ack = bench.task(key=key)
    assert (ack["rule"], ack["code"], ack["fault"]) == ("key_mismatch", "INVALID_TASK", "sender")
    assert ack["errors"] == [{"rule": "key_mismatch", "path": "/taskId", "message": ack["reason"]}]
    assert bench.of(SAP_ACKS)[0].key == TASK
    assert bench.stored() == {}


@pytest.mark.parametrize(
    ("key", "rendered"), [(None, "null"), ("", "''"), ("k", "'k'"), (b"\xff", "no UTF-8 text")]
)
def test_the_reason_of_a_wrong_key_shows_it(key: str | bytes | None, rendered: str) -> None:
    assert f"key is {rendered};" in Bench().task(key=key)["reason"]


@pytest.mark.parametrize(("key", "expected"), [("k", "k"), (None, "-"), (b"\xff", "-")])
def test_the_key_of_an_ack_without_a_task_id(key: str | bytes | None, expected: str) -> None:
    bench = Bench()
    ack = bench.task(task(taskId="no"), key=key)
    assert (ack["rule"], ack["messageId"], ack["taskId"]) == ("bad_uuid", "no", None)
    assert bench.of(SAP_ACKS)[0].key == expected


def test_a_name_that_no_ack_can_hold_is_left_out_of_it() -> None:
    bench, huge = Bench(), "x" * 4_500_000
    ack = bench.task(task(taskId=huge), key=huge)
    assert (ack["rule"], ack["messageId"], ack["taskId"]) == ("too_large", None, None)
    assert bench.of(SAP_ACKS)[0].key == "-"
    assert bench.signal(signal(signalId=huge))["messageId"] is None


def test_all_errors_are_told_the_first_decides() -> None:
    bench = Bench()
    ack = bench.task(task(protocolVersion="1", issuedAt="x", issuer={"agentKind": "robot"}))
    assert [error["rule"] for error in ack["errors"]] == [
        "bad_timestamp",
        "bad_enum",
        "bad_version",
    ]
    assert (ack["rule"], ack["code"]) == ("bad_timestamp", "INVALID_TASK")
    assert ack["reason"].startswith("/issuedAt: ")


def test_a_refused_task_leaves_nothing_and_may_come_again() -> None:
    bench = Bench()
    bench.task(task(issuedAt="x"))
    assert (bench.stored(), bench.outcomes(), bench.moves()) == ({}, [], [])
    assert bench.task()["rule"] == "accepted"


def test_warnings() -> None:
    bench = Bench(sap_payload_secrets="warn")
    ack = bench.task(
        task(
            constitutionalContext={"pressure": {"calm": 3}},
            payload={"note": "AKIA" + "A1" * 8},
            issuedAt="2025-01-01T00:00:00Z",
            telemetry={"deadline": "2025-06-01T00:00:00Z"},
        )
    )
    assert set(ack["warnings"]) == {
        "deadline_already_past",
        "pressure_for_unlisted_principle",
        "payload_secret_suspected",
    }


def test_too_large_outputs_are_told_without_the_task() -> None:
    bench = Bench()
    message = bench.record(SAP_TASKS, task())
    (sent,) = bench.too_large(message, SAP_LOOKUPS, 10**8)
    assert (sent.value["rule"], sent.value["fault"]) == ("too_large", "service")
    assert bench.rows(SAP_TASK_STATES_TABLE) == {}


def test_headers_are_bounded_whatever_is_sent() -> None:
    bench = Bench()
    refused = bench.task(task(replyTo={"endpoint": "x" * 1025}))
    assert (refused["rule"], bench.of(SAP_ACKS)[0].headers) == ("too_long", ())
    deadline = {"deadline": "2026-01-01T01:00:00Z"}
    bench.task(task(telemetry=deadline), headers=[("traceparent", b"0" * 4096)])
    assert list(bench.timers.values()) == [{}]


def test_expect_ack_false_does_not_silence_the_log() -> None:
    assert Bench().task(task(replyTo={"expectAck": False}))["rule"] == "accepted"


PRECHECKS: dict[str, Json] = {
    "principle": {
        "constitutionalContext": {"pressureLevel": "consulted", "pressure": {"calm": 90}}
    },
    "denylist": {"payload": {"text": "please use the Frobnicator"}},
}
FILE = """
version = "9"
[principles.calm]
threshold = 50
on_exceed = "escalate"
[denylist]
terms = ["frobnicator"]
[escalation]
capability = "people.look"
"""


@pytest.mark.parametrize(
    ("why", "status", "rule", "alignment"),
    [
        ("principle", "ESCALATED", "precheck_escalated", "ESCALATE"),
        ("denylist", "FAILED", "precheck_refused", "NON_CONSTITUTIONAL"),
    ],
)
def test_the_constitution_looks_at_the_task_first(
    why: str, status: str, rule: str, alignment: str, tmp_path: Path
) -> None:
    path = tmp_path / "constitution.toml"
    path.write_text(FILE)
    bench = Bench(sap_constitution=path)
    ack = bench.task(task("prefer", **PRECHECKS[why]))
    assert ack["rule"] == "accepted"
    assert ack["constitution"] == f"9@{sha256(FILE.encode()).hexdigest()[:12]}"
    assert (bench.lookups(), bench.inbox(), bench.state) == ([], [], status)
    assert bench.moves() == [("none", "QUEUED"), ("QUEUED", status)]
    outcome = bench.last
    assert outcome["meta"]["headrace"]["rule"] == rule
    assert outcome["constitutionalEvidence"]["alignment"] == alignment
    assert (bench.row()["lastAlignment"], len(bench.learned())) == (alignment, 1)
    if status == "FAILED":
        assert outcome["error"]["code"] == bench.row()["errorCode"] == "NON_CONSTITUTIONAL"
        assert outcome["error"]["details"] == {"checks": ["denylist"]}
        assert outcome["error"]["message"] == "The task breaks the constitution: denylist."
    else:
        (action,) = outcome["nextActions"]
        assert action["target"] == {"capability": "people.look"}
        assert action["payload"] == {"taskId": TASK, "rule": rule, "checks": ["calm"]}
        assert (action["parentTaskId"], action["correlationId"]) == (TASK, CORRELATION)
