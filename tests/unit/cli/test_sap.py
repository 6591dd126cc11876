"""The commands of SAP: what they print, and what they exit with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.cli import common
from streams.cli.gateway_client import NoGateway
from tests.unit.cli.looking import look_at
from tests.unit.cli.test_cli import run
from tests.unit.protocols.sap.queries.stage import (
    SapInboxAgent,
    cached,
    result,
    signal,
    task,
    task_id,
)
from tests.unit.protocols.sap.queries.test_cache import KEY, chain, forged, stored
from tests.unit.protocols.sap.queries.test_learning import derived, written
from tests.unit.views.bench import Bench
from topology.sap import SAP_HEURISTICS

Json = dict[str, Any]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A system in memory, which the commands look at."""
    system = Bench(tmp_path)

    look_at(system, monkeypatch)
    yield system
    system.close()


@pytest.fixture
def done(bench: Bench) -> Bench:
    """Task 1 computed and stored, 2 answered from there, 3 refused by the constitution."""
    desk = SapInboxAgent(bench)
    for of in (cached(1), cached(2)):
        bench.send("sap.tasks", of)
        desk.work()
    payload = {"say": "Ring Ana on +372 5550 1234"}
    bench.send("sap.tasks", task(3, payload=payload, context__constraints=["No PII"]))
    desk.work()
    bench.send("sap.tasks", cached(1))
    bench.send("sap.signals", signal(cached(1), rating=5))
    return bench


def written_to(folder: Path, name: str, value: Json) -> str:
    path = folder / name
    path.write_text(json.dumps(value))
    return str(path)


def test_a_task_is_shown_member_by_member(done: Bench) -> None:
    out = run("sap-task", task_id(1).upper())
    assert out.exit_code == 0, out.output
    lines = out.stdout.splitlines()
    assert "state              SUCCEEDED" in lines
    assert not any(line.startswith(("acks", "outcomes", "task ")) for line in lines)
    titles = next(n for n, line in enumerate(lines) if line.startswith("at "))
    rows = [line.split() for line in lines[titles + 1 :]]
    assert [(row[1], row[2]) for row in rows if row[1] != "outcome"] == [
        ("task", "ACK"),
        ("result", "ACK"),
        ("result", "ACK"),
        ("task", "ACK"),
        ("signal", "ACK"),
    ]
    outcomes = [row[2:6] for row in rows if row[1] == "outcome"]
    assert outcomes == [
        ["1", "RUNNING", "VALID", "agent_status"],
        ["2", "SUCCEEDED", "VALID", "agent_status"],
    ]


def test_a_task_as_json_is_what_http_answers(done: Bench) -> None:
    out = run("sap-task", task_id(2), "--json", "--wait", "0")
    assert json.loads(out.stdout) == done.look(f"/v1/sap/tasks/{task_id(2)}")
    assert out.exit_code == 0


def test_waiting_for_a_task_that_does_not_end(bench: Bench) -> None:
    bench.send("sap.tasks", task(1))
    out = run("sap-task", task_id(1), "--wait", "0.05")
    assert out.exit_code == 1
    assert "it is still QUEUED" in out.stderr
    assert run("sap-task", task_id(9)).exit_code == 1


def test_outcomes_are_shown_one_at_a_time(done: Bench) -> None:
    outcomes = done.look(f"/v1/sap/tasks/{task_id(1)}")["outcomes"]
    assert json.loads(run("sap-result", task_id(1)).stdout) == outcomes[-1]
    assert json.loads(run("sap-result", task_id(1), "--seq", "1").stdout) == outcomes[0]
    for arguments in ([task_id(1), "--seq", "3"], [task_id(9)]):
        assert run("sap-result", *arguments).exit_code == 1


def test_the_key_of_a_task(tmp_path: Path) -> None:
    of = task(
        target={"capability": "report.summarise"},
        payload={"requestId": "r-881", "sections": [3, 1], "document": "ledger-2026-10"},
        context__territory="NORDIC",
        context__principles=["strategic_pause", "blueprint_thinking", "strategic_pause"],
        outputContract={"format": "markdown"},
    )
    path = written_to(tmp_path, "task.json", of)
    answer = json.loads(run("sap-cache", "--key-of", path, "--json").stdout)
    assert answer["cacheKey"] == "591a42479351258326c4e1b6dd4c01bb5314daebe28167c1c5ee45dbb49b303f"
    assert answer["removedKeys"] == ["requestId"]
    assert json.loads(answer["hashed"])["sapVersion"] == "2.0"
    text = run("sap-cache", "--key-of", path)
    assert answer["fingerprint"] in text.stdout
    assert answer["hashed"] in text.stdout
    bad = written_to(tmp_path, "bad.json", {**of, "taskId": "x"})
    out = run("sap-cache", "--key-of", bad)
    assert (out.exit_code, "bad_uuid" in out.stderr or "taskId" in out.stderr) == (1, True)


def test_answers_by_key_and_version(bench: Bench) -> None:
    records = chain(3)
    stored(bench, *records)
    assert json.loads(run("sap-cache", KEY).stdout)["version"] == 3
    assert json.loads(run("sap-cache", KEY, "--version", "2").stdout)["version"] == 2
    table = run("sap-cache", KEY, "--versions").stdout.splitlines()
    assert [line.split()[0] for line in table] == ["version", "3", "2", "1"]
    assert records[0]["recordSha256"] in table[-1]
    whole = json.loads(run("sap-cache", KEY, "--versions", "--json").stdout)
    assert whole == bench.look(f"/v1/sap/cache/{KEY}/versions")
    for arguments in ([KEY, "--version", "4"], ["cd" * 32], ["cd" * 32, "--verify"]):
        assert run("sap-cache", *arguments).exit_code == 1


def test_answers_are_verified(bench: Bench) -> None:
    stored(bench, *chain(3), *chain(2, "cd" * 32))
    out = run("sap-cache", "--verify")
    assert out.exit_code == 0
    assert out.stdout.split() == ["keys", "2", "records", "5", "first", "bad", "none"]
    assert json.loads(run("sap-cache", KEY, "--verify", "--json").stdout)["records"] == 3
    one, two = chain(2, "ef" * 32)
    stored(bench, one, {**two, "output": 0})
    out = run("sap-cache", "--verify", "--json")
    assert out.exit_code == 1
    assert json.loads(out.stdout)["firstBad"] == {"cacheKey": "ef" * 32, "version": 2}
    assert run("sap-cache", KEY, "--verify").exit_code == 0


@pytest.mark.parametrize(
    "wrong",
    [
        [KEY, "--limit", "3"],
        [KEY, "--versions", "--verify"],
        [KEY, "--version", "0"],
        ["--versions"],
    ],
)
def test_a_call_that_makes_no_sense(bench: Bench, wrong: list[str]) -> None:
    assert run("sap-cache", *wrong).exit_code == 2


def test_what_was_learned(done: Bench) -> None:
    table = run("sap-learning", "report.summarise").stdout.splitlines()
    assert len(table) == 3
    answer = json.loads(run("sap-learning", "report.summarise", "--json").stdout)
    assert answer == done.look("/v1/sap/learning", "capability=report.summarise")
    assert run("sap-learning", "report.summarise", "--heuristics").exit_code == 1


def test_what_was_derived_and_why(bench: Bench) -> None:
    second = derived("a.b", 2, thresholds={}, extraChecks=["no_pii"])
    written(bench, SAP_HEURISTICS, derived("a.b", 1), second)
    items = json.loads(run("sap-learning", "a.b", "--heuristics", "--json").stdout)["items"]
    assert [each["changed"] for each in items] == [
        {"thresholds": {"p": 35}},
        {"thresholds": {}, "extraChecks": ["no_pii"]},
    ]
    text = run("sap-learning", "a.b", "--heuristics").stdout
    assert 'basis        {"n":2}' in text
    assert "version 2 at" in text


def test_a_task_is_explained_from_the_log(done: Bench) -> None:
    explanation = json.loads(run("sap-explain", task_id(3), "--json").stdout)
    assert [each["subject"] for each in explanation["commands"]] == ["TASK", "RESULT", "RESULT"]
    first, *_, last = explanation["commands"]
    assert [check["outcome"] for check in first["checks"]] == ["passed"] * len(first["checks"])
    assert first["checks"][0]["check"] == "shape"
    evaluation = last["evaluation"]
    assert (evaluation["alignment"], evaluation["combined"]) == ("NON_CONSTITUTIONAL",) * 2
    names = [step["name"] for step in evaluation["steps"]]
    assert "constraint:no_pii" in names
    assert explanation["outcomes"][-1]["rule"] == "alignment_refused"
    text = run("sap-explain", task_id(3)).stdout
    assert "constraint:no_pii" in text
    assert "5550" not in text


def test_the_cache_is_explained(done: Bench) -> None:
    explanation = json.loads(run("sap-explain", task_id(2), "--json").stdout)
    assert [each["verdict"] for each in explanation["lookups"]] == ["hit"]
    assert explanation["lookups"][0]["candidates"][0]["fresh"] is True
    assert "cache hit" in run("sap-explain", task_id(2)).stdout


def test_a_refusal_is_explained_with_its_figures(done: Bench) -> None:
    done.send("sap.results", result(cached(1), output=9))
    explanation = json.loads(run("sap-explain", task_id(1), "--json").stdout)
    checks = {each["check"]: each for each in explanation["commands"][-1]["checks"]}
    assert checks["correlation_mismatch"]["outcome"] == "passed"
    assert checks["task_closed"]["outcome"] == "failed"
    assert checks["task_closed"]["figures"] == {"state": "SUCCEEDED"}
    assert checks["illegal_transition"]["outcome"] == "not reached"
    text = run("sap-explain", task_id(1)).stdout
    assert 'figures {"state":"SUCCEEDED"}' in text
    assert "rejected, rule task_closed" in text


def test_files_are_explained_without_a_log(tmp_path: Path) -> None:
    of = task(1, context__constraints=["No PII", "Keep it courteous"])
    path = written_to(tmp_path, "task.json", of)
    good = written_to(tmp_path, "good.json", result(of, output={"text": "fine"}))
    bad = written_to(tmp_path, "bad.json", result(of, output="ann@example.org"))
    explanation = json.loads(run("sap-explain", "--task", path, "--result", good, "--json").stdout)
    assert explanation["state"] == "SUCCEEDED"
    steps = explanation["commands"][1]["evaluation"]["steps"]
    assert ("constraint:no_pii", "PASS") in {(step["name"], step["status"]) for step in steps}
    out = run("sap-explain", "--task", path, "--result", bad)
    assert out.exit_code == 0
    assert "outcome 1: FAILED, NON_CONSTITUTIONAL, rule alignment_refused" in out.stdout


def test_files_that_are_refused(tmp_path: Path) -> None:
    path = written_to(tmp_path, "task.json", {**task(1), "protocolVersion": "1"})
    out = run("sap-explain", "--task", path)
    assert out.exit_code == 1
    assert "rejected, rule bad_version" in out.stdout
    of = written_to(tmp_path, "of.json", task(1))
    other = written_to(tmp_path, "other.json", result(task(2)))
    assert run("sap-explain", "--task", of, "--result", other).exit_code == 1
    (tmp_path / "none.json").write_text("{")
    for arguments in (["sap-explain", "--task"], ["sap-cache", "--key-of"]):
        out = run(*arguments, str(tmp_path / "none.json"))
        assert (out.exit_code, type(out.exception)) == (1, SystemExit)
        assert "bad_json" in out.stderr


def test_a_file_that_no_record_can_carry_is_explained_too(tmp_path: Path) -> None:
    path = written_to(tmp_path, "task.json", {**task(1), "issuer": {}, "payload": 3})
    out = run("sap-explain", "--task", path, "--json")
    assert out.exit_code == 1
    explanation = json.loads(out.stdout)
    (only,) = explanation["commands"]
    assert (explanation["state"], only["position"], only["rule"]) == (None, None, "missing_field")
    (shape,) = only["checks"]
    assert [error["path"] for error in shape["errors"]] == [
        "/issuer/agentId",
        "/issuer/agentKind",
        "/payload",
    ]
    assert "bad_type at /payload" in run("sap-explain", "--task", path).stdout
    for text in ("3", "{}"):
        (tmp_path / "none.json").write_text(text)
        assert run("sap-explain", "--task", str(tmp_path / "none.json")).exit_code == 1


def test_a_result_that_no_record_can_carry(tmp_path: Path) -> None:
    path = written_to(tmp_path, "task.json", task(1))
    bad = written_to(tmp_path, "result.json", {**result(task(1)), "status": None})
    out = run("sap-explain", "--task", path, "--result", bad, "--json")
    explanation = json.loads(out.stdout)
    assert (out.exit_code, explanation["state"]) == (1, "QUEUED")
    assert [each["verdict"] for each in explanation["commands"]] == ["accepted", "rejected"]
    assert explanation["commands"][1]["checks"][0]["errors"][0]["path"] == "/status"


@pytest.mark.parametrize("wrong", [[], [task_id(1), "--task", __file__], ["--result", __file__]])
def test_an_explanation_of_one_thing(wrong: list[str]) -> None:
    assert run("sap-explain", *wrong).exit_code == 2


@pytest.mark.parametrize(
    "name", ["sap show", "sap result", "sap cache", "sap learning", "sap explain", "sap heuristics"]
)
def test_each_command_has_an_example(name: str) -> None:
    assert f"headrace {name} " in run(*name.split(), "--help").stdout


def test_refused_versions_are_listed(bench: Bench) -> None:
    forged(bench, chain(1)[0])
    answer = run("sap-cache", "--verify", "--json")
    assert answer.exit_code == 1
    place = {"cacheKey": KEY, "version": 1}
    assert json.loads(answer.stdout)["refused"] == [{**place, "reason": "not_stored"}]
    assert "is refused: not_stored" in run("sap-cache", "--verify").stdout
    assert "refused: not_stored" in run("sap-cache", KEY, "--versions").stdout


def test_waiting_without_a_gateway(done: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "ask_gateway", lambda *_: NoGateway())
    assert run("sap-task", task_id(1), "--wait", "5", "--text").exit_code == 0
    done.send("sap.tasks", task(4))
    late = run("sap-task", task_id(4), "--wait", "0", "--text")
    assert (late.exit_code, "it is still QUEUED" in late.stderr) == (1, True)


def test_a_task_of_which_everything_was_refused(bench: Bench) -> None:
    bench.send("sap.results", result(task(5)))
    text = run("sap-task", task_id(5), "--text")
    assert text.exit_code == 0, text.output
    assert "unknown_task" in text.stdout
