"""The commands of ASAP: what they print, and what they exit with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.asap.errors import ASAPConnectionError, ASAPRemoteError
from tests.unit.cli.looking import look_at
from tests.unit.cli.test_cli import run
from tests.unit.protocols.asap.queries.stage import (
    INDEXER,
    manifest,
    message,
    request,
    text,
    tool_result,
    update,
)
from tests.unit.protocols.asap.queries.test_states import sourced
from tests.unit.protocols.asap.queries.test_tasks import worked
from tests.unit.views.bench import Bench

Json = dict[str, Any]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A system in memory, which the commands look at."""
    system = Bench(tmp_path)
    look_at(system, monkeypatch)
    yield system
    system.close()


def written(folder: Path, value: Any) -> str:
    path = folder / "value.json"
    path.write_text(json.dumps(value))
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "path", "query"),
    [
        (("task", "t1"), "tasks/t1", ""),
        (("tasks", "--status", "completed", "--worker", INDEXER), "tasks", "status=completed"),
        (("tasks", "--conversation", "conv-7f"), "tasks", ""),
        (("events", "t1"), "tasks/t1/events", ""),
        (("events", "t1", "--limit", "2"), "tasks/t1/events", "limit=2"),
        (("snapshots", "t1"), "tasks/t1/snapshots", ""),
        (("snapshots", "t1", "2"), "tasks/t1/snapshots/2", ""),
        (("messages", "t1"), "tasks/t1/messages", ""),
        (("agents",), "agents", ""),
        (("agents", INDEXER), f"agents/{INDEXER}", ""),
    ],
)
def test_json_is_what_http_answers(
    bench: Bench, arguments: tuple[str, ...], path: str, query: str
) -> None:
    bench.send("asap.manifests", manifest())
    worked(bench)
    bench.send("asap.envelopes", message("m1", [text("hi")]))
    out = run("asap", *arguments, "--json")
    assert out.exit_code == 0, out.output
    assert json.loads(out.stdout) == bench.look(f"/v1/asap/{path}", query)
    table = run("asap", *arguments)
    assert table.exit_code == 0
    assert table.stdout != out.stdout


def test_a_task_member_by_member(bench: Bench) -> None:
    worked(bench)
    lines = run("asap", "task", "t1").stdout.splitlines()
    members = {line.split()[0]: line.split()[1] for line in lines}
    assert (members["id"], members["status"], members["sequence"]) == ("t1", "completed", "4")


def test_tasks_and_events_in_tables(bench: Bench) -> None:
    worked(bench)
    bench.send("asap.envelopes", request("t2"))
    out = run("asap", "tasks", "--limit", "1")
    assert [line.split()[1] for line in out.stdout.splitlines()] == ["id", "t1"]
    assert "more with --cursor" in out.stderr
    table = run("asap", "events", "t1").stdout.splitlines()
    assert [line.split()[0] for line in table] == ["sequence", "1", "2", "3", "4"]
    assert table[1].split()[2:4] == ["task_created", "submitted"]


def test_the_state_at_an_event(bench: Bench) -> None:
    sourced(bench)
    out = run("asap", "events", "t1", "--at", "3")
    assert 'data        {"page":2}' in out.stdout
    state = json.loads(run("asap", "events", "t1", "--at", "3", "--json").stdout)
    assert state["state"]["data"] == {"page": 2}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("task", "t9"), 1),
        (("events", "t1", "--at", "1"), 1),
        (("snapshots", "t1", "9"), 1),
        (("agents", "urn:asap:agent:x"), 1),
        (("tasks", "--status", "done"), 2),
        (("task",), 2),
    ],
)
def test_negative_answers_and_wrong_calls(
    bench: Bench, arguments: tuple[str, ...], code: int
) -> None:
    bench.send("asap.envelopes", request())
    assert run("asap", *arguments).exit_code == code


@pytest.mark.parametrize(
    ("envelope", "key"),
    [
        (request("t1"), "t1"),
        (update("u1", task="t1", task_id="job-5"), "t1"),
        (tool_result("r", "c1", "call-9"), "call-9"),
    ],
)
def test_the_key_of_an_envelope(tmp_path: Path, envelope: Json, key: str) -> None:
    out = run("asap", "key", written(tmp_path, envelope))
    assert (out.exit_code, out.stdout) == (0, f"{key}\n")


def test_envelopes_without_a_key(tmp_path: Path) -> None:
    unnamed = {**request(), "id": None}
    for envelope in (unnamed, {**request(), "sender": "x"}):
        out = run("asap", "key", written(tmp_path, envelope))
        assert out.exit_code == 1
    assert run("asap", "key", written(tmp_path, {**update("u1"), "id": None})).exit_code == 0


def test_schemas_are_exported(tmp_path: Path) -> None:
    out = run("asap", "schemas", str(tmp_path / "out"))
    paths = [Path(line) for line in out.stdout.splitlines()]
    assert len(paths) == 25
    assert all(json.loads(path.read_text())["type"] == "object" for path in paths)
    assert tmp_path / "out" / "payloads" / "task-request.schema.json" in paths


@pytest.mark.parametrize(
    ("kind", "value", "rules"),
    [
        ("asap.envelope", request(), []),
        ("asap.envelope", {**request(), "sender": "x"}, ["bad_urn"]),
        ("asap.envelope", [], ["malformed_envelope"]),
        ("asap.manifest", manifest(), []),
        ("asap.manifest", manifest(version="two"), ["bad_manifest"]),
    ],
)
def test_envelopes_are_validated(tmp_path: Path, kind: str, value: Any, rules: list[str]) -> None:
    out = run("validate", kind, written(tmp_path, value))
    answer = json.loads(out.stdout)
    assert [error["rule"] for error in answer["errors"]] == rules
    assert (answer["valid"], out.exit_code) == (not rules, 1 if rules else 0)


def _asked(*more: str) -> tuple[str, ...]:
    needed = ("--to", INDEXER, "--skill", "index.build", "--conversation", "c", "--input")
    return ("asap", "request", *needed, *(more or ('{"pages": 4}',)))


def test_a_request_prints_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    from schemas.asap import TaskStatus, TaskUpdate, UpdateType
    from streams.asap import client

    def answer(of: Any, task_request: Any, **more: Any) -> TaskUpdate:
        assert (of.sender, task_request.input, more) == (
            "urn:asap:agent:me",
            {"pages": 4},
            {"recipient": INDEXER, "wait": 3},
        )
        return TaskUpdate(
            task_id="t1", update_type=UpdateType.STATUS_CHANGE, status=TaskStatus.SUBMITTED
        )

    monkeypatch.setattr(client, "send_task_sync", answer)
    out = run(*_asked('{"pages": 4}', "--wait", "3", "--from", "urn:asap:agent:me"))
    assert out.exit_code == 0, out.output
    reply = json.loads(out.stdout)
    assert (reply["payload_type"], reply["status"]) == ("TaskUpdate", "submitted")
    words = _asked('{"pages": 4}', "--wait", "3", "--from", "urn:asap:agent:me", "--text")
    assert "status        submitted" in run(*words).stdout.splitlines()


def test_a_request_goes_to_the_gateway_that_queries_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    from streams.asap import client

    urls = []

    def answer(of: Any, *_: Any, **__: Any) -> None:
        urls.append(of.base_url)
        raise ASAPConnectionError("no connection")

    monkeypatch.setattr(client, "send_task_sync", answer)
    monkeypatch.setenv("HEADRACE_URL", "http://127.0.0.1:9")
    assert run(*_asked()).exit_code == 3
    assert urls == ["http://127.0.0.1:9"]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ASAPConnectionError("no connection"), 3, "no connection"),
        (ASAPRemoteError(-32603, "Internal error", {"error": "late"}), 3, "late"),
        (ASAPRemoteError(-32602, "Invalid params", {"rule": "bad_id", "error": "x"}), 1, "bad_id"),
    ],
)
def test_a_request_that_fails(
    monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, message: str
) -> None:
    from streams.asap import client

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(client, "send_task_sync", fail)
    out = run(*_asked())
    assert out.exit_code == code
    assert message in out.stderr


@pytest.mark.parametrize(
    ("option", "message"), [("--to", "bad_urn at /recipient"), ("--from", "bad_urn at /sender")]
)
def test_an_agent_that_is_no_urn(option: str, message: str) -> None:
    out = run(*_asked("{}", option, "nobody"))
    assert out.exit_code == 1
    assert message in out.stderr


@pytest.mark.parametrize("wrong", ["{", "[1]", "4", '{"a": NaN}', '{"a": 1, "a": 2}', "{\udcff}"])
def test_an_input_that_is_no_object(wrong: str) -> None:
    assert run(*_asked(wrong)).exit_code == 2
