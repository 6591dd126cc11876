"""The commands of Summit: what they print, and what they exit with (Summit guide, 6.4)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from streams.cli import common, main
from streams.errors import BrokerUnavailable
from streams.log import fetching
from streams.settings import Settings
from tests.unit.cli.office import Office
from tests.unit.protocols.summit.queries.stage import (
    AGENT,
    CALLS,
    HASHES,
    MADE,
    OUTPUT,
    REPLIES,
    RESULT,
    RUN,
    YAML,
    cancel,
    critic,
    example,
    failure,
    invoke,
    judgement,
    manifest,
    progress,
    registered,
)
from tests.unit.views.bench import Bench

INPUTS = '{"text": "to be or not to be"}'


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    bench = Bench(tmp_path)
    yield Office(bench, monkeypatch)
    bench.close()


@pytest.fixture
def served(office: Office) -> Office:
    """With the example's agent at work."""
    registered(office.bench, critic())
    office.agent()
    return office


def written(folder: Path, text: str, name: str = "agent.yaml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_manifests_are_registered(office: Office, tmp_path: Path) -> None:
    first = written(tmp_path, YAML)
    second = written(tmp_path, json.dumps(manifest("other")), "other.json")
    rows = office.cells("summit-register", first, second)
    manifest_hash = HASHES["manifestHash"]
    assert rows[0] == [AGENT, "1.2.0", manifest_hash, "accepted", "manifest.accepted"]
    assert (rows[1][0], rows[1][3]) == ("other", "accepted")
    again = office.json("summit-register", first, "--json")
    assert [fact["rule"] for fact in again["verdicts"]] == ["manifest.duplicate"]
    assert len(again["positions"]) == 1


def test_manifests_that_are_refused(office: Office, tmp_path: Path) -> None:
    good = written(tmp_path, YAML)
    office.run("summit-register", good)
    other = written(tmp_path, YAML.replace("Counts words.", "Counts."), "other.yaml")
    (row,) = office.cells("summit-register", other, code=1)
    assert row[3:] == ["rejected", "manifest.version_conflict"]
    bad = written(tmp_path, YAML.replace("kind: Agent", "kind: Robot"), "bad.yaml")
    office.refused(2, "manifest.kind", "summit-register", good, bad)
    office.refused(2, "manifest.yaml", "summit-register", written(tmp_path, "a: 1\na: 2", "n.yaml"))
    assert len(office.bench.records("summit.manifests")) == 2


def test_an_agent_is_withdrawn(served: Office) -> None:
    assert served.cells("summit-withdraw", AGENT) == [[AGENT, "accepted", "manifest.withdrawn"]]
    again = served.cells("summit-withdraw", AGENT, code=1)
    assert again == [[AGENT, "rejected", "manifest.not_registered"]]
    served.refused(2, "manifest.name", "summit-withdraw", "No one")


def test_agents_and_their_tools(served: Office) -> None:
    rows = served.cells("summit-agents")
    assert rows == [
        ["fact-check", "1.2.0", "critic", "registered", "text:count", "slugify"],
        [AGENT, "1.2.0", "x-text", "registered", "text:count", "slugify"],
    ]
    assert [row[0] for row in served.cells("summit-agents", "--role", "critic")] == ["fact-check"]
    assert served.cells("summit-agents", "--capability", "web:search") == []
    assert len(served.json("summit-agents", "--json")["items"]) == 2
    tools_json = served.json("summit-tools", AGENT)
    assert tools_json == {
        "tools": [{"agentId": AGENT, **manifest()["spec"]["tools"][0]}],
        "nextCursor": None,
    }
    (tool,) = served.json("summit-tools", AGENT, "--mcp")["tools"]
    assert ("arguments" in tool, tool["inputSchema"]["required"]) == (False, ["title"])


def test_the_schema_of_an_agent(served: Office) -> None:
    schema_json = served.json("summit-schema", AGENT, "--version", "1.2.0")
    assert schema_json["manifestHash"] == HASHES["manifestHash"]
    assert schema_json["inputSchema"] == manifest()["spec"]["interface"]["inputSchema"]
    served.refused(1, "agent.unknown", "summit-schema", "nobody")
    served.refused(1, "agent.unknown", "summit-schema", AGENT, "--version", "9.0.0")
    served.refused(2, "params.agent_id", "summit-schema", "No")


def test_a_run_is_made_and_its_result_printed(served: Office) -> None:
    result = served.run("summit-invoke", AGENT, "--inputs", INPUTS)
    assert (result.exit_code, json.loads(result.stdout)) == (0, RESULT)
    run_id = result.stderr.strip()
    assert run_id.startswith("cli-")
    assert served.bench.look(f"/v1/summit/runs/{run_id}")["caller"] is None


def test_the_options_of_a_call(served: Office, tmp_path: Path) -> None:
    inputs = written(tmp_path, INPUTS, "inputs.json")
    served.run(
        *("summit-invoke", AGENT, "--inputs", f"@{inputs}", "--run-id", "r-1", "--trace", "tr-1"),
        *("--parent", "r-0", "--usd", "0.5", "--tokens", "10", "--seconds", "2.5", "--wait", "9"),
    )
    run = served.bench.look("/v1/summit/runs/r-1")
    assert (run["traceId"], run["parentRunId"]) == ("tr-1", "r-0")
    assert run["budget"] == {"usd": 0.5, "tokens": 10, "seconds": 2.5}


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (("--run-id", ""), "params.run_id"),
        (("--usd", "1e300"), "budget.value"),
        (("--seconds", "1e300"), "budget.value"),
        (("--usd", "nan"), "json.invalid"),
        (("--tokens", "-1"), "budget.value"),
        (("--trace", ""), "context.trace_id"),
    ],
)
def test_options_that_are_refused(served: Office, options: tuple[str, str], rule: str) -> None:
    served.refused(2, rule, "summit-invoke", AGENT, "--inputs", INPUTS, *options)
    assert served.bench.records(CALLS) == []


def test_a_tool_is_not_called_under_an_empty_id(served: Office) -> None:
    arguments = ("--arguments", '{"title": "x"}')
    ask = ("summit-call-tool", AGENT, "slugify", *arguments, "--call-id", "")
    served.refused(2, "params.tool_call", *ask)


@pytest.mark.parametrize(
    ("text", "rule"),
    [("{", "json.parse"), ('{"text": "a", "text": "b"}', "json.invalid")],
)
def test_inputs_that_are_no_json(served: Office, tmp_path: Path, text: str, rule: str) -> None:
    """On the command line as in a file."""
    for inputs in (text, f"@{written(tmp_path, text, 'inputs.json')}"):
        served.refused(2, rule, "summit-invoke", AGENT, "--inputs", inputs)


def test_runs_that_end_otherwise(office: Office) -> None:
    registered(office.bench)
    ask = ("summit-invoke", AGENT, "--inputs", INPUTS, "--wait", "0", "--run-id", RUN)
    office.refused(3, "run.pending", *ask)
    office.agent(lambda call: [failure()])
    assert office.json(*ask, code=1)["error"] == {"code": 1, "message": "it broke"}


@pytest.mark.parametrize(
    ("words", "code", "rule"),
    [
        (("nobody", "--inputs", "{}"), 1, "agent.unknown"),
        ((AGENT, "--inputs", "{}"), 1, "inputs.schema"),
        ((AGENT, "--inputs", "{"), 2, "json.parse"),
        ((AGENT, "--inputs", "[]"), 2, "params.shape"),
        (("No", "--inputs", "{}"), 2, "params.agent_id"),
        ((AGENT, "--inputs", INPUTS, "--run-id", "?"), 2, "params.run_id"),
        ((AGENT, "--inputs", INPUTS, "--usd", "-1"), 2, "budget.value"),
        ((AGENT, "--inputs", "@none.json"), 2, "none.json"),
        ((AGENT,), 2, "--inputs"),
    ],
)
def test_calls_that_are_refused(
    served: Office, words: tuple[str, ...], code: int, rule: str
) -> None:
    served.refused(code, rule, "summit-invoke", *words)


def test_a_rule_is_printed_once(served: Office) -> None:
    result = served.run("summit-invoke", "nobody", "--inputs", "{}")
    assert result.stderr.count("agent.unknown") == 1


def test_a_tool_is_used(served: Office) -> None:
    ask = ("summit-call-tool", AGENT, "slugify", "--arguments", '{"title": "To Be"}')
    assert served.json(*ask, "--call-id", "t-1") == {"id": "t-1", "output": "to-be"}
    assert served.json(*ask)["output"] == "to-be"
    served.refused(1, "tool.unknown", "summit-call-tool", AGENT, "sing", "--arguments", "{}")


def test_a_run_is_cancelled_by_an_operator(office: Office) -> None:
    registered(office.bench)
    office.bench.send(CALLS, {**invoke(), "caller": "desk-7"})
    ask = ("summit-cancel", RUN, "--reason", "asked twice")
    assert office.cells(*ask) == [[RUN, "cancelled", "cancel.accepted"]]
    assert office.cells(*ask) == [[RUN, "cancelled", "cancel.duplicate"]]
    run = office.bench.look(f"/v1/summit/runs/{RUN}")
    assert (run["cancel"]["caller"], run["cancel"]["reason"]) == ("operator", "asked twice")
    assert office.cells("summit-cancel", "none", code=1) == [["none", "-", "run.unknown"]]
    assert office.json("summit-cancel", "none", "--json", code=1)["verdicts"]
    office.refused(2, "params.run_id", "summit-cancel", "?")


def test_a_run_that_has_ended_cannot_be_cancelled(office: Office) -> None:
    example(office.bench)
    assert office.cells("summit-cancel", RUN, code=1) == [[RUN, "completed", "run.terminal"]]


def test_where_a_run_stands(office: Office) -> None:
    registered(office.bench)
    office.refused(1, "run.unknown", "summit-status", RUN)
    office.bench.send(CALLS, invoke())
    office.bench.send(REPLIES, progress())
    assert office.json("summit-status", RUN, code=3)["status"] == "running"
    office.bench.send(CALLS, cancel())
    assert office.json("summit-status", RUN, code=1)["result"]["status"] == "cancelled"


def test_the_status_of_a_completed_run(office: Office) -> None:
    example(office.bench)
    run_json = office.json("summit-status", RUN)
    assert (run_json["status"], run_json["result"]["output"]) == ("completed", OUTPUT)
    assert run_json["provenance"] == MADE


def test_a_critic_judges(office: Office) -> None:
    registered(office.bench, critic())
    example(office.bench)
    ask = ("summit-judge", RUN, "--agent", "fact-check", "--status", "passed")
    checks = ("--check", "tone=true", "--check", "sources=false", "--score", "0.5")
    rows = office.cells(*ask, *checks, "--model", "m-1")
    assert rows == [[RUN, "accepted", "reply.verification", "failed"]]
    judge = office.bench.look(f"/v1/summit/runs/{RUN}")["judge"]
    assert (judge["agentId"], judge["provenance"]["model"]) == ("fact-check", "m-1")
    assert judge["verification"]["claimedStatus"] == "passed"
    assert office.cells(*ask, code=1) == [[RUN, "rejected", "judge.already", "failed"]]
    none = ("summit-judge", "none", *ask[2:])
    assert office.cells(*none, code=1) == [["none", "rejected", "run.unknown", "-"]]
    office.refused(2, "verification.value", *ask, "--score", "2")
    office.refused(2, "NAME=true", *ask, "--check", "tone")


def test_runs_are_listed(office: Office) -> None:
    example(office.bench)
    office.bench.send(CALLS, invoke("r-2", traceId="tr-2", parentRunId=RUN))
    rows = office.cells("summit-runs")
    assert [row[0] for row in rows] == ["r-2", RUN]
    assert rows[0][1:9] == ["invoke", AGENT, "queued", "call.accepted", "0", "0", "-", "-"]
    assert rows[1][1:8] == ["invoke", AGENT, "completed", "reply.result", "0", "0", "1"]
    for option, value in (("--agent", AGENT), ("--state", "queued"), ("--parent", RUN)):
        assert office.cells("summit-runs", option, value)[0][0] == "r-2"
    assert [row[0] for row in office.cells("summit-runs", "--trace", "tr-9c")] == [RUN]
    assert len(office.json("summit-runs", "--json")["items"]) == 2


def test_the_evidence_of_a_run_holds(office: Office) -> None:
    example(office.bench)
    rows = office.cells("summit-verify", RUN)
    names = ("callHash", "inputHash", "manifestHash", "replyHash", "outputHash")
    assert [row[:4] for row in rows] == [[n, "ok", HASHES[n], HASHES[n]] for n in names]
    assert [row[4].split("/")[0] for row in rows] == [
        *("summit.calls", "summit.calls", "summit.manifests", "summit.replies", "summit.replies")
    ]


def test_the_evidence_of_runs_of_other_kinds(served: Office) -> None:
    served.json(
        "summit-call-tool", AGENT, "slugify", "--arguments", '{"title": "x"}', "--run-id", "t-1"
    )
    assert {
        check["result"] for check in served.json("summit-verify", "t-1", "--json")["checks"]
    } == {"ok"}
    served.work = lambda: None
    served.bench.send(CALLS, invoke("r-3"), cancel("r-3"))
    evidence = served.json("summit-verify", "r-3", "--json")
    assert (evidence["runId"], len(evidence["checks"])) == ("r-3", 3)
    served.refused(1, "there is no run", "summit-verify", "none")


def test_evidence_that_does_not_hold_any_more(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call was exchanged; the reply is not there any more, nor is the manifest."""
    example(office.bench)
    (other,) = office.bench.append(CALLS, invoke("r-2"))
    evidence = office.bench.look(f"/v1/summit/runs/{RUN}")["evidence"]
    read = fetching.records_of(office.bench.log)
    gone = (evidence["replyPosition"], evidence["manifestPosition"])

    def fetch(position: str) -> Any:
        if position in gone:
            return None
        return read(other if position == evidence["callPosition"] else position)

    monkeypatch.setattr(fetching, "records_of", lambda log: fetch)
    rows = office.cells("summit-verify", RUN, code=1)
    assert [row[1] for row in rows] == ["mismatch", "ok", "ok", "missing", "missing"]
    assert rows[2][4] == "summit.agents"
    assert rows[3][3] == "-"


COMMANDS = [
    ("summit-withdraw", AGENT),
    ("summit-schema", AGENT),
    ("summit-tools",),
    ("summit-invoke", AGENT, "--inputs", "{}"),
    ("summit-call-tool", AGENT, "slugify", "--arguments", "{}"),
    ("summit-cancel", RUN),
    ("summit-status", RUN),
    ("summit-judge", RUN, "--agent", "c", "--status", "passed"),
    ("summit-verify", RUN),
    ("summit-agents",),
    ("summit-runs",),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_service_that_is_away(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def away(settings: Settings) -> Any:
        raise BrokerUnavailable("no broker answers")

    monkeypatch.setattr(common, "connect", away)
    result = CliRunner().invoke(main, list(words))
    assert (result.exit_code, "broker_unavailable" in result.stderr) == (4, True), result.output


def test_a_verdict_that_does_not_come(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office.bench.host, "run", lambda: None)
    monkeypatch.setenv("HEADRACE_SUMMIT_WAIT_S", "0")
    office.refused(3, "no verdict", "summit-withdraw", AGENT)
    office.refused(3, "no verdict", "summit-cancel", RUN)


def test_verdicts_for_people(office: Office, tmp_path: Path) -> None:
    path = written(tmp_path, YAML)
    other = written(tmp_path, YAML.replace("Counts words.", "Counts."), "other.yaml")
    accepted = office.run("summit", "register", path, "--text").stdout.splitlines()
    assert accepted[0].split() == ["agentId", "version", "manifestHash", "verdict", "rule"]
    assert accepted[1].split() == [AGENT, "1.2.0", "6b669a54", "✔", "accepted", "manifest.accepted"]
    refused = office.run("summit", "register", other, "--text").stdout.splitlines()
    assert "✖ refused" in refused[1]
    assert refused[2].strip().startswith("manifest.version_conflict: ")
    office.bench.send(CALLS, invoke())
    cancelled = office.run("summit", "cancel", RUN, "--text").stdout.splitlines()
    assert cancelled[1].split() == [RUN, "cancelled", "cancel.accepted"]
    withdrawn = office.run("summit", "withdraw", AGENT, "--text").stdout.splitlines()
    assert withdrawn[1].split() == [AGENT, "✔", "accepted", "manifest.withdrawn"]


def test_results_for_people(served: Office) -> None:
    ask = ("summit", "invoke", AGENT, "--inputs", INPUTS, "--text", "--run-id", "r-1")
    lines = served.run(*ask).stdout.splitlines()
    assert lines[:4] == ["completed", "output", "  top    be, to, not", "  words  6"]
    tool = ("summit", "call-tool", AGENT, "slugify", "--arguments", '{"title": "To Be"}')
    assert "  to-be" in served.run(*tool, "--text").stdout.splitlines()
    served.bench.send(REPLIES)
    ask = ("summit", "judge", "r-1", "--agent", "fact-check", "--status", "passed", "--text")
    assert "✔ accepted" in served.run(*ask).stdout


def test_judgements_by_others_are_seen(office: Office) -> None:
    registered(office.bench, critic())
    example(office.bench)
    office.bench.send(REPLIES, judgement(status="flagged"))
    (row,) = office.cells("summit-runs")
    assert row[8] == "flagged"
