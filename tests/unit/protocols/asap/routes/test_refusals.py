"""What `POST /asap` of the gateway refuses (ASAP guide, 6.2, 7), over the system in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.asap import rules
from streams.errors import ProduceUnknown
from tests.processes import ROOT
from tests.unit.asap.support import PAYLOADS, Json, call, envelope_json, error
from tests.unit.protocols.asap.routes.asap_bench import (
    SERVICE,
    AsapBench,
    asap_bench,
    begun,
    done,
    from_requester,
)


@pytest.mark.parametrize(
    ("changes", "rule", "asap_error"),
    [
        (
            {"asap_version": "1.0"},
            "version_mismatch",
            "asap:protocol/version_mismatch",
        ),
        ({"id": ""}, "bad_id", "asap:protocol/malformed_envelope"),
        ({"recipient": SERVICE}, "reserved_urn", "asap:security/permission_denied"),
        (
            {"payload": {**PAYLOADS["TaskRequest"], "config": {"timeout_seconds": 0}}},
            "bad_config",
            "asap:protocol/malformed_envelope",
        ),
        (
            {"payload": {**PAYLOADS["TaskRequest"], "input": {"n": 2**60}}},
            "bad_json",
            "asap:protocol/malformed_envelope",
        ),
        (
            {"extensions": {"dev.headrace.error": {}}},
            "bad_extension",
            "asap:protocol/malformed_envelope",
        ),
        (
            {"payload": {**PAYLOADS["TaskRequest"], "input": {"x": "x" * 900_000}}},
            "envelope_too_large",
            "asap:resource/quota_exceeded",
        ),
    ],
)
def test_12_a_rule_that_the_edge_knows(
    bench: AsapBench, changes: Json, rule: str, asap_error: str
) -> None:
    answer = bench.rpc({**envelope_json(correlation_id="corr"), **changes}, id="r")
    code, data = error(answer)
    assert (code, answer["id"], data["rule"]) == (-32602, "r", rule)
    assert (data["asap_error"], data["correlation_id"]) == (asap_error, "corr")
    assert data["error"]
    assert set(data) == {"error", "rule", "asap_error", "correlation_id", "trace_id"}
    assert data["trace_id"] == "tr-19"
    assert bench.bench.records("asap.envelopes") == []


def test_12_what_the_processor_refuses(bench: AsapBench) -> None:
    answer = bench.rpc(done("nobody-s"))
    code, data = error(answer)
    assert (code, data["rule"], data["asap_error"]) == (
        -32602,
        "task_not_found",
        "asap:task/not_found",
    )
    assert data["position"].startswith("asap.envelopes/")
    task = begun(bench)
    other = {**done(task), "sender": "urn:asap:agent:other"}
    assert bench.refusal(other)[1]["asap_error"] == "asap:security/permission_denied"
    bench.result(done(task))
    late = from_requester("TaskCancel", task)
    assert bench.refusal(late)[1]["asap_error"] == "asap:task/already_completed"


@pytest.mark.parametrize(
    ("of", "detail"),
    [
        (
            done("nobody-s"),
            "correlation_id: there is no task nobody-s, which is the envelope's correlation_id.",
        ),
        (
            {**done("job-5"), "correlation_id": "corr-7"},
            "correlation_id: there is no task corr-7, which is the envelope's correlation_id.",
        ),
        (
            from_requester("TaskCancel", "nobody-s"),
            "task_id: there is no task nobody-s, which is the payload's task_id.",
        ),
        (
            envelope_json(
                "McpToolResult",
                correlation_id="c",
                payload={"request_id": "r-9", "success": True, "result": {}},
            ),
            "There is no tool call r-9, which is the payload's request_id.",
        ),
    ],
)
def test_what_is_not_known_is_named_with_its_source(
    bench: AsapBench, of: Json, detail: str
) -> None:
    data = bench.refusal(of)[1]
    assert (data["error"], data["asap_error"]) == (detail, "asap:task/not_found")


def test_an_error_has_the_trace_that_the_record_has(bench: AsapBench) -> None:
    of = {**from_requester("TaskCancel", "nobody-s"), "trace_id": None}
    data = bench.refusal(of)[1]
    assert (data["trace_id"], data["correlation_id"]) == ("nobody-s", of["id"])
    answer = bench.get(f"/v1/asap/envelopes/{of['id']}")
    assert [each["trace_id"] for each in answer["events"]] == ["nobody-s"]


def test_10_types_that_nobody_takes(bench: AsapBench) -> None:
    code, data = bench.refusal(envelope_json("acme.ping"))
    assert (code, data["payload_type"]) == (-32601, "acme.ping")


def test_11_a_payload_that_does_not_fit(bench: AsapBench) -> None:
    code, data = bench.refusal(envelope_json(payload={}))
    assert (code, data["error"]) == (-32602, "Invalid payload")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"id":1}', b"\xff"])
def test_what_is_no_request(bench: AsapBench, body: bytes) -> None:
    for kind in ("application/json", "text/plain", "application/x-www-form-urlencoded"):
        answer = bench.ask("POST", "/asap", content=body, headers={"content-type": kind})
        assert (answer.status_code, answer.json()["id"] in (None, 1)) == (200, True)
        assert answer.json()["error"]["code"] in (-32700, -32600)


def test_without_a_worker_there_is_no_verdict(tmp_path: Path) -> None:
    with AsapBench(tmp_path, asap_verdict_timeout_ms=200) as bench:
        code, data = bench.refusal(envelope_json(correlation_id="corr"))
        assert (code, data["asap_error"]) == (-32603, "asap:transport/verdict_timeout")
        assert data["correlation_id"] == "corr"
        (record,) = bench.bench.records("asap.envelopes")
        assert data["position"] == f"{record.topic}/{record.partition}/{record.offset}"


def test_without_a_broker_nothing_is_taken(
    bench: AsapBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(outputs: object) -> None:
        raise ProduceUnknown("nobody confirms it")

    monkeypatch.setattr(bench.bench.log, "submit", away)
    code, data = bench.refusal(envelope_json())
    assert (code, data["asap_error"]) == (-32603, "asap:transport/log_unavailable")
    assert "nobody confirms it" in data["error"]


def test_while_the_view_is_rebuilt_nothing_is_taken(tmp_path: Path) -> None:
    bench = AsapBench(tmp_path)  # whose view has not begun
    try:
        code, data = bench.refusal(envelope_json())
        assert (code, data["asap_error"]) == (-32603, "asap:transport/log_unavailable")
        assert "the view is starting" in data["error"]
        assert bench.bench.records("asap.envelopes") == []
    finally:
        bench.bench.close()


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_only_posts_are_taken(bench: AsapBench, method: str) -> None:
    answer = bench.ask(method, "/asap")
    assert answer.status_code == 405
    assert answer.json()["rule"] == "method_not_allowed"


def test_a_body_has_a_bound(tmp_path: Path) -> None:
    with asap_bench(tmp_path, gateway_max_body_bytes=1024) as bench:
        answer = bench.ask("POST", "/asap", content=b"x" * 1025)
        assert answer.status_code == 413


EXAMPLES = ROOT / "schemas" / "examples" / "asap"
VALID = sorted(EXAMPLES.glob("*.json"))
INVALID = sorted((EXAMPLES / "invalid").glob("*.json"))
IN_THE_MODELS = "asap:protocol/malformed_envelope"
"""What rows 8 and 11 say, whose rules the library has too."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AsapBench]:
    folder = tmp_path_factory.mktemp("examples")
    with asap_bench(folder, asap_call_wait_seconds=0) as shared_bench:
        yield shared_bench


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_a_valid_envelope_gets_a_verdict(shared: AsapBench, path: Path) -> None:
    answer = shared.rpc(json.loads(path.read_text()))
    if "error" in answer:
        code, data = error(answer)
        assert (code, "position" in data) == (-32602, True) or data["error"].startswith("The call")
        assert data["asap_error"]


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_invalid_envelope_is_not_sent(shared: AsapBench, path: Path) -> None:
    example, before = json.loads(path.read_text()), len(shared.bench.records("asap.envelopes"))
    code, data = error(shared.rpc(example["envelope"]))
    assert len(shared.bench.records("asap.envelopes")) == before
    if code == -32601:
        assert example["rule"] == "unknown_payload_type"
        return
    assert code == -32602
    if "rule" in data:
        assert data["rule"] == example["rule"]
        assert data["asap_error"] == rules.ASAP_ERRORS[data["rule"]]
    else:
        assert data["validation_errors"]
        assert data["asap_error"] == IN_THE_MODELS


@pytest.mark.parametrize(
    "text", ['{"x": "\\ud800"}', '{"x": 1e999}', '{"\\udfff": 1}', '{"n": 9007199254740992}']
)
def test_odd_json_is_a_rule_s_affair(shared: AsapBench, text: str) -> None:
    body = json.dumps(call(envelope_json(correlation_id="corr", payload={"here": 1})))
    payload = json.dumps({**PAYLOADS["TaskRequest"], "input": "@"}).replace('"@"', text)
    sent = body.replace('{"here": 1}', payload).encode()
    code, data = error(shared.ask("POST", "/asap", content=sent).json())
    assert (code, data["rule"], data["correlation_id"]) == (-32602, "bad_json", "corr")
