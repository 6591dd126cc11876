"""What outcomes say: the table of 3.6, what is withheld, what is stored, what learning is told."""

from __future__ import annotations

import pytest

from schemas import canonical_json, sha256_hex
from schemas.sap.cache_key import cache_key
from tests.unit.protocols.sap.processor.support import (
    CORRELATION,
    TASK,
    Bench,
    Json,
    derived,
    result,
    signal,
    task,
    uuid,
)

PHONE = {"text": "Ring Ana on +372 5550 1234"}
S_VALID: Json = {}
S_ESCALATE: Json = {"metrics": {"tokens": 901}}
S_REFUSED: Json = {"output": PHONE}
GOVERNED: Json = {
    "constitutionalContext": {"constraints": ["No PII"]},
    "telemetry": {"budget": {"tokens": 900}},
}


def ready(mode: str | None = None, state: str = "RUNNING", **changes: Json) -> Bench:
    """A bench whose task has been handed to an agent."""
    bench = Bench()
    bench.task(task(mode, **{**GOVERNED, **changes}))
    if mode is not None:
        bench.verdict("miss", leader=True)
    if state != "QUEUED":
        bench.result(result("RUNNING"))
    return bench


@pytest.mark.parametrize(
    ("status", "members", "outcome", "rule"),
    [
        ("SUCCEEDED", S_VALID, "SUCCEEDED", "agent_status"),
        ("SUCCEEDED", S_ESCALATE, "ESCALATED", "alignment_escalated"),
        ("SUCCEEDED", S_REFUSED, "FAILED", "alignment_refused"),
        ("PARTIAL", S_VALID, "PARTIAL", "agent_status"),
        ("PARTIAL", S_ESCALATE, "PARTIAL", "agent_status"),
        ("PARTIAL", S_REFUSED, "FAILED", "alignment_refused"),
        ("RUNNING", {"metrics": {"tokens": 1}}, "RUNNING", "agent_status"),
        ("RUNNING", S_ESCALATE, "RUNNING", "agent_status"),
        ("RUNNING", {**S_REFUSED, "metrics": {"n": 1}}, "FAILED", "alignment_refused"),
        ("FAILED", S_ESCALATE, "FAILED", "agent_status"),
        ("FAILED", S_REFUSED, "FAILED", "agent_status"),
        ("CANCELLED", S_REFUSED, "CANCELLED", "agent_status"),
        ("ESCALATED", S_REFUSED, "ESCALATED", "agent_status"),
    ],
)
def test_alignment_decides_the_status(status: str, members: Json, outcome: str, rule: str) -> None:
    bench = ready()
    ack = bench.result(result(status, artifacts=[{"uri": "x"}], **members))
    assert (ack["status"], bench.state) == ("ACK", outcome)
    last = bench.last
    meta = last["meta"]["headrace"]
    assert (last["status"], meta["rule"], meta["agentStatus"]) == (outcome, rule, status)
    refused = "output" in members
    escalated = members is S_ESCALATE
    service = "NON_CONSTITUTIONAL" if refused else "ESCALATE" if escalated else "VALID"
    assert meta["serviceAlignment"] == last["constitutionalEvidence"]["alignment"] == service
    assert (meta["agentAlignment"], bench.row()["lastAlignment"]) == ("VALID", service)
    if refused:
        assert "output" not in last
        assert "artifacts" not in last
        assert meta["outputSha256"] == sha256_hex(canonical_json(PHONE))
        assert "5550" not in canonical_json(last).decode()
    else:
        assert last["artifacts"] == [{"uri": "x"}]
        assert "outputSha256" not in meta
    if rule == "alignment_refused":
        assert last["error"]["code"] == bench.row()["errorCode"] == "NON_CONSTITUTIONAL"
        assert "constraint:no_pii" in last["error"]["message"]
        assert last["error"]["details"] == {"checks": ["constraint:no_pii"]}


def test_over_budget_the_output_is_kept_and_somebody_is_named() -> None:
    bench = ready()
    bench.result(result("SUCCEEDED", **S_ESCALATE))
    last = bench.last
    assert last["output"] == {"text": "done"}
    assert last["nextActions"] == [
        {
            "target": {"capability": "governance.review"},
            "parentTaskId": TASK,
            "correlationId": CORRELATION,
            "payload": {
                "taskId": TASK,
                "rule": "alignment_escalated",
                "checks": ["budget:tokens"],
            },
        }
    ]


@pytest.mark.parametrize(
    ("actions", "named"),
    [(None, "governance.review"), ([], "governance.review"), ([{"a": 1}], None)],
)
def test_an_agents_escalation_gets_a_next_action_if_it_has_none(
    actions: list[Json] | None, named: str | None
) -> None:
    bench = ready()
    bench.result(result("ESCALATED", nextActions=actions))
    (action,) = bench.last["nextActions"]
    assert action == {"a": 1} if named is None else action["target"] == {"capability": named}


def test_the_example_of_the_spec() -> None:
    """3.5: a telephone number is refused, silence about it is not."""
    context = {
        "pressureLevel": "consulted",
        "riskTolerance": "low",
        "pressure": {"systems_over_willpower": 63, "strategic_pause": 12},
        "constraints": ["No PII", "Cite at least one source", "Keep it courteous"],
    }
    evidence = {
        "alignment": "VALID",
        "policyChecks": [{"principle": "systems_over_willpower", "status": "PASS"}],
        "citations": ["lib:17"],
    }
    for output, metrics, level, status in [
        (PHONE, 205, "consulted", "FAILED"),
        ({"text": "Ring Ana"}, 205, "consulted", "SUCCEEDED"),
        ({"text": "Ring Ana"}, 205, "deliberated", "ESCALATED"),
        ({"text": "Ring Ana"}, 295, "consulted", "ESCALATED"),
    ]:
        bench = Bench()
        whole_context = {**context, "pressureLevel": level}
        bench.task(task(constitutionalContext=whole_context, telemetry=GOVERNED["telemetry"]))
        used = {"tokensIn": 610, "tokensOut": metrics}
        value = result("SUCCEEDED", output=output, metrics=used, constitutionalEvidence=evidence)
        bench.result(value)
        last = bench.last
        assert last["status"] == status
        assert ("output" in last) == (status != "FAILED")
        assert last["constitutionalEvidence"]["pressureReadings"] == context["pressure"]
        checks = {
            c["principle"]: c["status"] for c in last["constitutionalEvidence"]["policyChecks"]
        }
        assert checks["systems_over_willpower"] == "PASS"
        assert checks["constraint:no_pii"] == ("FAIL" if status == "FAILED" else "PASS")


def test_the_agents_evidence_is_kept_beside_the_services() -> None:
    bench = ready(None, constitutionalContext={"pressure": {"calm": 12.5}})
    evidence = {
        "alignment": "VALID",
        "pressureReadings": {"calm": 140},
        "policyChecks": [{"principle": "own", "status": "PASS", "more": 1}],
        "violations": [{"principle": "small", "severity": "low"}],
        "citations": ["a"],
        "cache": {"hit": False, "cacheKey": "theirs"},
        "odd": {"kept": True},
    }
    bench.result(result("SUCCEEDED", constitutionalEvidence=evidence, metrics={"tokens": 3}))
    last_evidence = bench.last["constitutionalEvidence"]
    assert last_evidence["pressureReadings"] == {"calm": 140}
    assert [check["principle"] for check in last_evidence["policyChecks"]] == [
        "budget:tokens",
        "own",
    ]
    assert last_evidence["policyChecks"][1]["more"] == 1
    assert last_evidence["violations"] == [{"principle": "small", "severity": "low"}]
    assert (last_evidence["citations"], last_evidence["odd"]) == (["a"], {"kept": True})
    assert last_evidence["cache"] == {"hit": False}
    assert bench.last["meta"]["headrace"]["reportedCache"] == evidence["cache"]


def test_evidence_of_a_miss_names_the_key() -> None:
    bench = ready("prefer")
    assert bench.last["constitutionalEvidence"]["cache"] == {
        "hit": False,
        "cacheKey": bench.row()["accepted"]["cacheKey"],
    }


def test_steps_are_shown_when_the_task_asks_for_a_trace() -> None:
    quiet, loud = ready(), ready(telemetry={"trace": True})
    for bench in (quiet, loud):
        bench.result(result("SUCCEEDED"))
    assert "steps" not in quiet.last["meta"]["headrace"]
    assert [step["name"] for step in loud.last["meta"]["headrace"]["steps"]][-1] == "sum"


def test_an_answer_is_stored() -> None:
    bench = ready("prefer", target={"agentId": "A-ml-001"}, outputContract={"format": "json"})
    evidence = {"alignment": "VALID", "citations": ["lib:1"]}
    ack = bench.result(result("SUCCEEDED", constitutionalEvidence=evidence))
    lookup = bench.lookups()[-1]
    assert (lookup["op"], lookup["mode"], lookup["task"]) == ("STORE", "prefer", None)
    assert lookup["lookupId"] == derived(ack["position"], 2)
    draft = lookup["draft"]
    last = bench.last
    assert {name: draft[name] for name in ("output", "citations", "producer", "outcomeSeq")} == {
        "output": {"text": "done"},
        "citations": ["lib:1"],
        "producer": "A-ml-001",
        "outcomeSeq": 2,
    }
    assert draft["policyChecks"] == last["constitutionalEvidence"]["policyChecks"]
    assert draft["resultSha256"] == ack["envelopeSha256"]
    assert (draft["storedAt"], draft["alignment"]) == ("2026-01-01T00:00:00Z", "VALID")
    assert draft["cacheKey"] == bench.row()["accepted"]["cacheKey"]
    assert draft["outputContract"] == {"format": "json"}


@pytest.mark.parametrize(
    "changes",
    [
        {"output": ...},
        {"output": None},
        {"constitutionalEvidence": {"cache": {"hit": True}}},
        S_ESCALATE,
        S_REFUSED,
    ],
)
def test_what_is_not_stored_gives_the_lead_back(changes: Json) -> None:
    bench = ready("prefer")
    bench.result(result("SUCCEEDED", **changes))
    lookup = bench.lookups()[-1]
    assert (lookup["op"], lookup["draft"]) == ("RELEASE", None)
    assert lookup["reason"] is not None


@pytest.mark.parametrize("status", ["FAILED", "CANCELLED", "ESCALATED"])
def test_other_ends_give_the_lead_back(status: str) -> None:
    bench = ready("prefer")
    bench.result(result(status))
    assert [lookup["op"] for lookup in bench.lookups()] == ["READ", "RELEASE"]


def test_a_task_that_leads_nobody_has_nothing_to_give_back() -> None:
    bench = Bench()
    bench.task(task("prefer"))
    bench.verdict("miss", leader=False)
    bench.result(result("FAILED"))
    assert [lookup["op"] for lookup in bench.lookups()] == ["READ"]


def test_bypass_neither_reads_nor_writes() -> None:
    bench = ready()
    bench.result(result("SUCCEEDED"))
    assert bench.lookups() == []


def test_learning_is_told_once_per_task() -> None:
    payload = {"requestId": "r-1", "document": "ledger", "sections": [3, 1]}
    bench = ready("prefer", payload=payload, constitutionalContext={"territory": "NORDIC"})
    metrics = {"tokens": 12, "latencyMs": 3.5, "model": "x", "warm": True}
    actions = [
        {"target": {"capability": "next.one"}},
        {"action": "ask"},
        {"note": 1},
        {"target": 3},
    ]
    bench.result(result("RUNNING", metrics={"n": 1}))
    assert bench.learned() == []
    bench.result(result("SUCCEEDED", metrics=metrics, nextActions=actions))
    (fact,) = bench.learned()
    row = bench.row()
    assert (fact["kind"], fact["status"], fact["rule"]) == ("outcome", "SUCCEEDED", "agent_status")
    assert (fact["computed"], fact["cacheHit"], fact["territory"]) == (True, False, "NORDIC")
    assert fact["metrics"] == {"tokens": 12, "latencyMs": 3.5}
    assert fact["nextActions"] == ["next.one", "ask", "other", "other"]
    assert fact["fingerprint"] == row["accepted"]["fingerprint"]
    assert fact["outputSha256"] == sha256_hex(canonical_json({"text": "done"}))
    value = bench.inbox()[0]
    assert row["accepted"]["removedKeys"] == ["requestId"]
    assert fact["members"] == [
        {
            "name": name,
            "looSha256": cache_key(value, {"requestId", name}).key,
            "valueSha256": sha256_hex(canonical_json(payload[name])),
        }
        for name in ("document", "sections")
    ]


def test_a_payload_of_many_members_teaches_nothing_of_them() -> None:
    bench = ready(payload={f"m{n}": n for n in range(32)})  # with `document` there are 33
    bench.result(result("SUCCEEDED"))
    assert bench.learned()[-1]["members"] == []


def test_thirty_two_members_are_told() -> None:
    bench = ready(payload={"document": ..., **{f"m{n}": n for n in range(32)}})
    bench.result(result("SUCCEEDED"))
    assert len(bench.learned()[-1]["members"]) == 32


def test_a_refused_answer_has_no_output_to_learn_from() -> None:
    bench = ready()
    bench.result(result("SUCCEEDED", **S_REFUSED))
    (fact,) = bench.learned()
    assert (fact["status"], fact["alignment"]) == ("FAILED", "NON_CONSTITUTIONAL")
    assert (fact["computed"], fact["outputSha256"]) == (True, None)


def test_a_cancel_is_learned_as_an_end_that_nobody_computed() -> None:
    bench = ready()
    bench.signal(signal("cancel", signalId=uuid(1)))
    (fact,) = bench.learned()
    assert (fact["status"], fact["rule"], fact["computed"]) == (
        "CANCELLED",
        "cancelled_by_signal",
        False,
    )


def test_a_text_stays_a_text() -> None:
    bench = ready()
    bench.result(result("SUCCEEDED", output="7"))
    assert bench.last["output"] == "7"


def test_hashes_of_values_are_of_their_canonical_form() -> None:
    bench = ready(payload={"number": 1e20})
    bench.result(result("SUCCEEDED", output=[1e20]))
    (fact,) = bench.learned()
    assert fact["outputSha256"] == sha256_hex(b"[100000000000000000000]")
    (_, member) = fact["members"]
    assert member["valueSha256"] == sha256_hex(b"100000000000000000000")
