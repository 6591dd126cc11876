"""A new type of RTES events is a record and a row in each of two lists; none may be left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.skeleton.with_event_type import NAME, WithEventType

SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
EVENT: dict[str, Any] = {
    "event_id": "00000000-0000-4000-8000-000000000001",
    "session_id": "s1",
    "payload": {
        "type": NAME,
        "line": f"denied: {SECRET}",
        "masked": False,
        "timestamp": "2026-01-01T00:00:00Z",
    },
}


def played(version: WithEventType, *lines: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the service writes in memory."""
    scenario = version.home / "scenario.jsonl"
    scenario.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    result = version.run("streams.cli", "play", str(scenario))
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> WithEventType:
    version = WithEventType(tmp_path_factory.mktemp("event-type"))
    version.add_record()
    version.add_type()
    version.add_handler()
    built = version.run("schemas.build")
    assert built.returncode == 0, built.stderr
    return version


def test_an_event_of_it_is_masked_decided_and_recorded(version: WithEventType) -> None:
    sent = {"topic": "rtes.raw", "value": EVENT}
    unmasked = {**sent, "as": "service"}
    query = {"query": f"GET /v1/rtes/events?session_id=s1&type={NAME}"}
    output = played(version, sent, sent, query)
    (record,) = [line["value"] for line in output if line.get("topic") == "rtes.events"]
    assert (record["sequence"], record["rule"]) == (1, "recorded")
    assert record["payload"]["type"] == NAME
    assert record["payload"]["masked"] is True
    assert "[REDACTED:" in record["payload"]["line"]
    (rejection,) = [line["value"] for line in output if line.get("topic") == "rtes.rejections"]
    assert (rejection["rule"], rejection["type"]) == ("event_duplicate", NAME)
    assert SECRET not in json.dumps(output)
    assert "[REDACTED:" in json.dumps(output[-1])
    (record,) = [
        line["value"] for line in played(version, unmasked) if line.get("topic") == "rtes.events"
    ]
    assert "[REDACTED:" in record["payload"]["line"]


def test_it_is_checked_and_documented(version: WithEventType) -> None:
    bad = version.home / "bad.json"
    payload = {**EVENT["payload"], "masked": "no"}
    bad.write_text(json.dumps({**EVENT, "payload": payload}), encoding="utf-8")
    result = version.run("streams.cli", "validate", "rtes.event", str(bad))
    assert result.returncode == 1
    assert "/payload/masked" in result.stdout + result.stderr
    assert NAME in (version.home / "schemas/json/rtes/event.json").read_text(encoding="utf-8")


def test_a_part_that_is_left_out_is_named_at_import(tmp_path: Path) -> None:
    version = WithEventType(tmp_path)
    version.add_type()
    without_record = version.run("streams.protocols.commands").stderr
    version.add_record()
    without_handler = version.run("streams.protocols.commands").stderr
    version.add_handler()
    without_catalogue = version.run("streams.protocols.commands").stderr
    assert without_record.endswith(
        "TypeError: SANDBOX_ERROR has no Avro record: "
        "schemas/avro/rtes/SandboxError.avsc is missing.\n"
    )
    assert without_handler.endswith(
        "TypeError: SANDBOX_ERROR has no EventHandler in HANDLERS of "
        "streams.protocols.saop.rtes.event_handlers.\n"
    )
    assert without_catalogue.endswith(
        "TypeError: SANDBOX_ERROR is not in the catalogue: run `python -m schemas.build`.\n"
    )
