"""The commands `headrace audit prove` and `status`, over a gateway and over the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import common, main
from streams.engine.memory import MemoryLog
from streams.ops.tlog.receipt import parse_receipt
from tests.unit.cli.stub_gateway import StubGateway
from tests.unit.ops.tlog.example_log import FIRST, ORIGIN, POLICY, receipt
from tests.unit.ops.tlog.logged import EVENTS, Logged

COMMAND = "apc.packets/0/0"
EFFECTS = f"/v1/records/{COMMAND}/effects"
VERDICT = {"verdict": "accepted", "fact": "apc.events/0/1"}


@pytest.fixture
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logged:
    """Three published facts, and one that has no entry yet."""
    system = Logged(tmp_path)

    @contextmanager
    def connect(settings: Any) -> Iterator[MemoryLog]:
        yield system.log

    monkeypatch.setattr(common, "connect", connect)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_STATE_DIR", "state")
    monkeypatch.setenv("HEADRACE_TLOG_POLICY", "policy")
    Path("policy").write_text(POLICY)
    system.write_facts(3)
    with system.writer() as writer:
        writer.round()
    system.write_facts(1)
    return system


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["audit", *arguments])
    assert result.exit_code == code, result.output
    return result


def prove(*arguments: str, code: int = 0) -> Result:
    return run("prove", "--no-gateway", *arguments, code=code)


def ask(gateway: StubGateway, *arguments: str, code: int = 0) -> Result:
    return run("prove", "--gateway", gateway.address, *arguments, code=code)


def answer_effects(monkeypatch: pytest.MonkeyPatch, *answers: dict[str, Any]) -> None:
    remaining = list(answers)

    def answer(path: str, query: str, settings: Any) -> dict[str, Any]:
        assert path == EFFECTS
        return remaining.pop(0)

    monkeypatch.setattr(common, "ask", answer)
    monkeypatch.setattr("time.sleep", lambda seconds: None)


def test_a_receipt_and_its_record_hold_without_the_log(logged: Logged) -> None:
    output = prove("apc.events/0/1", "--out", "fact.tlog-proof", "--record").stdout
    assert output == "fact.tlog-proof: apc.events/0/1, index 1 of 3\n"
    checked = run("check", "fact.tlog-proof", "--record", "fact.tlog-proof.record.json").stdout
    assert checked.startswith("holds      apc.events/0/1 was in the log")
    assert "record     is the one that was logged" in checked


def test_a_receipt_is_printed_as_it_is(logged: Logged) -> None:
    data = prove("apc.events/0/2").stdout_bytes
    assert parse_receipt(data).entry.position == "apc.events/0/2"


def test_the_fact_with_the_verdict_on_a_command_is_proved(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending = {"decided": False, "verdicts": []}
    answer_effects(monkeypatch, pending, {"decided": True, "verdicts": [VERDICT]})
    data = prove(COMMAND, "--wait", "60").stdout_bytes
    assert parse_receipt(data).entry.position == VERDICT["fact"]


@pytest.mark.parametrize(
    ("decided", "message"), [(False, "there is no verdict on"), (True, "no fact has a verdict on")]
)
def test_a_command_without_a_fact_has_no_receipt(
    logged: Logged, monkeypatch: pytest.MonkeyPatch, decided: bool, message: str
) -> None:
    answer_effects(monkeypatch, {"decided": decided, "verdicts": []})
    assert message in prove(COMMAND, code=1).stderr


@pytest.mark.parametrize(
    ("position", "code", "message"),
    [
        ("apc.events/0/4", 1, "has no published entry yet"),
        ("apc.events/0/3", 1, "has no published entry yet"),
        ("headrace.changelog/0/0", 1, "records of headrace.changelog have no entries in the log"),
        ("nothing/0/0", 1, "records of nothing have no entries in the log"),
        ("apc.events", 2, "apc.events is no position"),
    ],
)
def test_a_record_without_an_entry(logged: Logged, position: str, code: int, message: str) -> None:
    assert message in prove(position, code=code).stderr


def test_without_a_policy_or_a_gateway_there_are_no_receipts(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADRACE_TLOG_POLICY")
    assert "set HEADRACE_TLOG_POLICY" in prove("apc.events/0/1", code=2).stderr


def test_a_record_goes_beside_a_file(logged: Logged) -> None:
    assert "--record needs --out" in prove("apc.events/0/1", "--record", code=2).stderr


def test_a_record_that_is_gone_is_not_written(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged.log.truncate(EVENTS, 2)
    assert (
        "is not kept any more"
        in prove("apc.events/0/1", "--out", "fact.tlog-proof", "--record", code=1).stderr
    )
    run("check", "fact.tlog-proof")
    assert not Path("fact.tlog-proof.record.json").exists()


def test_a_gateway_is_asked(logged: Logged, gateway: StubGateway) -> None:
    gateway.kind, gateway.body = "text/plain; charset=utf-8", receipt()
    assert ask(gateway, FIRST.position, "--wait", "7").stdout_bytes == receipt()
    assert gateway.requests[0][0] == f"/v1/audit/receipts/{FIRST.position}?wait=7"


@pytest.mark.parametrize("body", [b"no receipt", receipt(1), b"x" * (1 << 21)])
def test_a_gateway_that_answers_with_something_else(
    logged: Logged, gateway: StubGateway, body: bytes
) -> None:
    gateway.kind, gateway.body = "text/plain", body
    assert "gateway_unavailable" in ask(gateway, FIRST.position, code=3).stderr


@pytest.mark.parametrize(
    ("status", "rule", "advice"),
    [
        (404, "tlog_off", "Set it there."),
        (404, "record_unknown", "It is so."),
        (409, "not_logged", "`--wait S` waits for it."),
        (422, "topic_not_covered", "It is so."),
    ],
)
def test_a_gateway_refuses(
    logged: Logged, gateway: StubGateway, status: int, rule: str, advice: str
) -> None:
    gateway.refuse(status, rule)
    assert advice in ask(gateway, FIRST.position, code=1).stderr


def test_the_status_is_that_of_the_log(logged: Logged, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = run("status", "--no-gateway", "--text").stdout.splitlines()
    assert lines[0] == ORIGIN
    assert "size 3" in lines[1]
    assert "cosigned by nobody" in lines[1]
    assert any(line.split()[1:] == ["apc.events/0", "3", "6", "1"] for line in lines)
    monkeypatch.delenv("HEADRACE_TLOG_POLICY")
    assert "HEADRACE_TLOG_POLICY is not set" in run("status", "--no-gateway", code=1).stderr


def test_a_conflict_ends_with_1(gateway: StubGateway) -> None:
    gateway.body = {"conflict": True}
    run("status", "--gateway", gateway.address, "--json", code=1)
