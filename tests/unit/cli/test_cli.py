"""Exit codes, messages and help, without a broker."""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from streams import cli
from streams.cli import main, up
from streams.cli.commands import ALIASES, COMMANDS, OLD, SECTIONS
from tests.unit.envelopes import idea, transition
from tests.unit.protocols.summit.queries.stage import result as reply_to

EXPLAIN = ["packet-explain", "--session-id", "s1", "--packet-id", "x"]
EXAMPLE = re.compile(r"^ *(headrace .+)$", re.MULTILINE)


def run(*args: str, stdin: Any = None, env: dict[str, str] | None = None) -> Result:
    text = stdin if stdin is None or isinstance(stdin, str) else json.dumps(stdin)
    return CliRunner().invoke(main, list(args), input=text, env=env)


@pytest.fixture(autouse=True)
def state_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory in which no broker runs."""
    monkeypatch.setenv("HEADRACE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HEADRACE_GATEWAY", "127.0.0.1:0")
    monkeypatch.delenv("HEADRACE_BOOTSTRAP", raising=False)
    return tmp_path / "state"


@pytest.fixture
def nobody() -> str:
    """An address where nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{listener.getsockname()[1]}"


def commands() -> Iterator[tuple[str, click.Command]]:
    for name in COMMANDS:
        yield from _with_those_below(name, main.commands[name])


def _with_those_below(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    for below, inner in getattr(command, "commands", {}).items():
        yield from _with_those_below(f"{name} {below}", inner)


ALL = dict(commands())


@pytest.mark.parametrize("name", ["", *ALL])
def test_every_help_has_an_example_that_parses(name: str) -> None:
    result = run(*name.split(), "--help")
    assert result.exit_code == 0
    examples = EXAMPLE.findall(result.output.partition("Example")[2])
    assert examples
    for example in examples:
        words = shlex.split(example)[1:]
        path = next(path for path in sorted(ALL, key=len, reverse=True) if _begins(words, path))
        if name:
            assert path == name or path.startswith(f"{name} ")
        arguments = words[len(path.split()) :]
        group = click.Context(main, **main.context_settings)
        ALL[path].make_context(path, arguments, parent=group, resilient_parsing=True).close()
        _parses(ALL[path], arguments)


PATHS = {name: path for mapping in (ALIASES, OLD) for name, path in mapping.items()}


@pytest.mark.parametrize("name", PATHS)
def test_another_name_is_the_same_command(name: str) -> None:
    context = _context(main)
    assert main.get_command(context, name) is ALL[PATHS[name]]
    assert (
        run(name, "--help").stdout.partition("\n")[2]
        == (run(*PATHS[name].split(), "--help").stdout.partition("\n")[2])
    )


def test_help_has_sections_and_the_aliases_but_no_old_names() -> None:
    text = run("--help").stdout
    titles = re.findall(r"^(\w+):$", text, re.MULTILINE)
    assert titles == ["Options", *SECTIONS, "Aliases"]
    listed = re.findall(r"^  ([a-z][\w-]*)  ", text, re.MULTILINE)
    assert listed == [*COMMANDS, *ALIASES]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["sap-task", "--help"], "sap-task is now: headrace sap show\n"),
        (["asap", "task", "--help"], "task is now: headrace asap show\n"),
        (["packet-trace", "--help"], ""),
        (["sap", "show", "--help"], ""),
    ],
)
def test_an_old_name_hints_at_the_new_one_on_a_terminal(
    words: list[str], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(*words).stderr == ""
    monkeypatch.setattr(cli, "_at_terminal", lambda: True)
    result = run(*words)
    assert (result.exit_code, result.stderr) == (0, hint)


def _begins(words: list[str], path: str) -> bool:
    return words[: len(path.split())] == path.split()


def _context(command: click.Command) -> click.Context:
    """A command keeps the help option it is first given: let it be the group's."""
    return click.Context(command, parent=click.Context(main, **main.context_settings))


def _parses(command: click.Command, words: list[str]) -> None:
    """Options exist and arguments are as many as wanted; files need not exist."""
    options, arguments, _ = command.make_parser(_context(command)).parse_args(list(words))
    assert arguments == []
    required = [p for p in command.params if isinstance(p, click.Argument) and p.required]
    assert all(options.get(str(argument.name)) for argument in required)


def test_help_is_quick_because_it_imports_little() -> None:
    code = "import sys, streams.cli; print([m for m in sys.modules if m in sys.argv])"
    heavy = ["schemas", "confluent_kafka", "rocksdict", "faust", "pydantic", "orjson"]
    ran = subprocess.run(
        [sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["send"],
        ["send", "apc.events"],
        ["send", "apc.packets", "--rate", "0"],
        ["send", "apc.packets", "no-such-file"],
        ["tail", "nowhere"],
        ["validate", "apc.nothing"],
        ["packet-replay"],
        ["packet-trace", "--limit", "0"],
        ["packet-explain", "--session-id", "s1"],
        [*EXPLAIN, "--what-if", "top_k"],
        [*EXPLAIN, "--what-if", "after=apc.packets/0/0"],
        [*EXPLAIN, "--standing", "later"],
        ["packet-lineage-summary", "--limit", "0"],
        ["packet-transfer-arbitrate"],
        ["packet-transfer-arbitrate", "--packets-in", "no-such-file"],
        ["packet-evaluate", "--packet-in", "no-such-file"],
        ["play", "--set", "NONSENSE"],
        ["play", "--set", "NONSENSE=1"],
        ["topics", "accept-gap", "apc.packets"],
        ["dlq", "show", "nowhere"],
    ],
)
def test_wrong_usage_exits_with_2(args: list[str]) -> None:
    result = run(*args, stdin="{}")
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output


def test_an_unknown_variable_is_named_with_the_nearest() -> None:
    result = run("validate", "apc.packet", stdin=idea(), env={"HEADRACE_BOOTSTRAPS": "x"})
    assert result.exit_code == 2
    assert "HEADRACE_BOOTSTRAP" in result.stderr


NEED_A_BROKER = [
    ["send", "apc.packets"],
    ["tail", "rtes", "--until-end"],
    ["query", "/v1/apc/packets"],
    ["packet-trace"],
    ["packet-replay", "--run-id", "r1"],
    ["packet-explain", "--session-id", "s1", "--packet-id", "x", "--what-if", "top_k=1"],
    ["packet-lineage-summary"],
    ["dlq", "list"],
    ["dlq", "show", "apc.packets/0/0"],
    ["topics", "list"],
    ["topics", "create"],
    ["topics", "describe", "apc.packets"],
    ["topics", "accept-gap", "apc.packets", "0"],
    ["topics", "adopt", "--dry-run"],
    ["worker"],
]


@pytest.mark.parametrize("args", NEED_A_BROKER, ids=" ".join)
@pytest.mark.parametrize("configured", [False, True])
def test_without_a_broker_the_way_out_is_named(
    args: list[str], configured: bool, nobody: str
) -> None:
    env = {"HEADRACE_BOOTSTRAP": nobody} if configured else {}
    result = run(*args, stdin=idea(), env=env)
    assert result.exit_code == 3, result.output
    assert "headrace up" in result.stderr
    assert result.stderr.count("\n") == 1


def test_nothing_is_sent_when_one_value_is_not_valid() -> None:
    lines = "\n".join(json.dumps(p) for p in (idea(1), idea(2, confidence=2), idea(3, extra=1)))
    result = run("send", "apc.packets", stdin=lines)
    assert result.exit_code == 1
    assert "number_range at value 2 /confidence" in result.stderr
    assert "member_unknown at value 3 /extra" in result.stderr
    assert "Nothing was sent" in result.stderr


def test_send_reads_what_is_no_json() -> None:
    result = run("send", "apc.packets", stdin="{")
    assert result.exit_code == 1
    assert "json_invalid" in result.stderr


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("apc.packet", idea()),
        ("apc.packet", idea(created_at=...)),
        ("rtes.event", transition()),
        ("rtes.event", transition(extra=1) | {"origin": "apc"}),
        ("rtes.payload", transition()["payload"]),
    ],
)
def test_valid_envelopes(kind: str, value: Any) -> None:
    result = run("validate", kind, stdin=value)
    assert result.exit_code == 0
    assert json.loads(result.output) == {"valid": True, "errors": []}


def test_what_is_wrong_with_an_envelope() -> None:
    result = run("validate", "apc.packet", stdin=idea(confidence=2))
    assert result.exit_code == 1
    answer = json.loads(result.output)
    assert answer["valid"] is False
    (error,) = answer["errors"]
    assert (error["rule"], error["path"]) == ("number_range", "/confidence")


@pytest.mark.parametrize(
    ("mistake", "path", "others"),
    [
        ({"metrics": ..., "metric": {"tokens": 0, "cost_usd": 0}}, "/metric", ["metrics.missing"]),
        ({"metrics": {"token": 0, "cost_usd": 0}}, "/metrics/token", ["metrics.value"]),
        ({"kind": "progress"}, "/output", []),
        ({"replyId": 5}, "/replyId", []),
    ],
)
def test_one_mistake_in_a_reply_is_one_error(mistake: Any, path: str, others: list[str]) -> None:
    whole = {**reply_to("r-1"), **mistake}
    reply = {name: member for name, member in whole.items() if member is not ...}
    result = run("validate", "summit.reply", stdin=reply)
    (error,) = json.loads(result.stdout)["errors"]
    assert (result.exit_code, error["rule"], error["path"]) == (1, "reply.shape", path)
    assert ("more with --all" in result.stderr) == bool(others)
    every = json.loads(run("validate", "summit.reply", "--all", stdin=reply).stdout)["errors"]
    assert [each["rule"] for each in every] == ["reply.shape", *others]


@pytest.mark.parametrize("text", ["", "{", '{"a": 1, "a": 2}', "NaN"])
@pytest.mark.parametrize("kind", ["apc.packet", "rtes.event", "rtes.payload"])
def test_text_that_is_no_json_is_not_valid(kind: str, text: str) -> None:
    result = run("validate", kind, stdin=text)
    assert result.exit_code == 1
    assert json.loads(result.output)["errors"][0]["rule"] == "json_invalid"


def test_an_envelope_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "packet.json"
    path.write_text(json.dumps(idea()))
    assert run("validate", "apc.packet", str(path)).exit_code == 0


def test_play_prints_one_object_a_line() -> None:
    line = json.dumps({"topic": "apc.packets", "value": idea()})
    result = run("play", stdin=line)
    assert result.exit_code == 0
    outputs = [json.loads(text) for text in result.output.splitlines()]
    assert [o["n"] for o in outputs] == list(range(1, len(outputs) + 1))
    assert outputs[0]["value"]["verdict"] == "accepted"


@pytest.mark.parametrize("name", ["APC_REQUIRE_ANTI_DRIFT", "HEADRACE_APC_REQUIRE_ANTI_DRIFT"])
def test_play_sets_settings(name: str) -> None:
    line = json.dumps({"topic": "apc.packets", "value": idea()})
    result = run("play", "--set", f"{name}=true", stdin=line)
    assert json.loads(result.output.splitlines()[0])["value"]["rule"] == "drift_check_missing"


def test_play_names_the_line_that_is_wrong() -> None:
    result = run("play", stdin='{"advance_ms": 1}\n{"what": 1}\n')
    assert result.exit_code == 2
    assert "line 2" in result.stderr


def test_the_status_of_a_broker_that_does_not_run() -> None:
    result = run("broker", "status", "--json")
    assert result.exit_code == 1
    assert json.loads(result.output)["running"] is False


def test_stopping_a_broker_that_does_not_run() -> None:
    assert run("broker", "stop").exit_code == 1


@pytest.mark.parametrize("option", ["--port", "--broker-port"])
def test_up_ends_at_once_where_a_port_is_taken(option: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        result = run("up", option, str(port))
    assert result.exit_code == 3
    assert result.stderr == (
        f"headrace: address_taken: port {port} is taken; {option} 0 takes a free one\n"
    )


def test_up_takes_ports_and_a_state_directory(tmp_path: Path) -> None:
    settings = up.settings_of(tmp_path / "other", 0, 0)
    assert settings.state_dir == tmp_path / "other"
    assert (settings.gateway, settings.broker_port) == ("127.0.0.1:0", 0)


def test_a_broker_is_not_run_beside_one_that_is_configured() -> None:
    result = run("broker", "run", env={"HEADRACE_BOOTSTRAP": "127.0.0.1:1"})
    assert result.exit_code == 2
    assert "HEADRACE_BOOTSTRAP" in result.stderr
