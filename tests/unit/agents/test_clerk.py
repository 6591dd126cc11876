"""The example agent answers validly, to whom it should, and the same way each time."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from schemas import sap
from streams.agents import EchoAgent
from streams.agents.__main__ import main
from streams.agents.cursor_file import place_of
from streams.agents.echo_agent import CONSTITUTION
from tests.unit.protocols.sap.queries.stage import AGENT, SapInboxAgent, result, task
from tests.unit.views.bench import Bench

AT = 1_767_225_601_999


@pytest.mark.parametrize(
    ("target", "takes"),
    [
        ({"capability": "report.summarise"}, True),
        ({"capability": "report.other"}, False),
        ({"capability": "report.other", "agentId": "A-ml-001"}, True),
        ({"capability": "report.summarise", "agentId": "A-ml-002"}, False),
    ],
)
def test_it_takes_what_is_for_it(target: dict[str, str], takes: bool) -> None:
    assert AGENT.takes(task(target=target)) is takes


TASKS: list[dict[str, Any]] = [
    task(),
    task(payload={"a": ["x", {"b": "two words"}], "n": 3}),
    task(context__pressure={"p": 63.5}, context__principles=["q", "p"]),
    task(context__references=["lib:17"], outputContract={"format": "markdown"}),
]


@pytest.mark.parametrize("of", TASKS)
def test_its_answers_are_valid_and_always_the_same(of: dict[str, Any]) -> None:
    results = AGENT.results(of, AT)
    assert [sap.validate_result(each) for each in results] == [[], []]
    assert [each["status"] for each in results] == ["RUNNING", "SUCCEEDED"]
    assert results == AGENT.results(copy.deepcopy(of), AT)
    assert {each["reportedAt"] for each in results} == {"2026-01-01T00:00:01Z"}


def test_it_says_what_the_payload_says() -> None:
    of = task(payload={"b": ["x", {"c": "two words"}], "a": "y"})
    _, done = AGENT.results(of, AT)
    expected = {"capability": "report.summarise", "sections": ["x", "two words", "y"]}
    assert done["output"] == expected
    assert done["metrics"] == {"tokensIn": 4, "tokensOut": 4}
    assert done["constitutionalEvidence"]["citations"] == [CONSTITUTION]


def test_it_reports_on_every_principle() -> None:
    of = task(context__pressure={"p": 1}, context__principles=["q", "p"])
    _, done = AGENT.results(of, AT)
    checks = done["constitutionalEvidence"]["policyChecks"]
    assert [(each["principle"], each["status"]) for each in checks] == [
        ("q", "PASS"),
        ("p", "PASS"),
    ]


def test_a_task_delivered_twice_has_one_answer(bench: Bench, inbox_agent: SapInboxAgent) -> None:
    bench.send("sap.tasks", task())
    assert inbox_agent.work() == 1
    SapInboxAgent(bench).work()
    page = bench.look(f"/v1/sap/tasks/{task()['taskId']}")
    assert [outcome["status"] for outcome in page["outcomes"]] == ["RUNNING", "SUCCEEDED"]
    verdicts = [ack["verdict"] for ack in page["acks"] if ack["subject"] == "RESULT"]
    assert verdicts == ["accepted", "accepted", "duplicate", "duplicate"]


def test_another_agent_keeps_off(bench: Bench) -> None:
    bench.send("sap.tasks", task())
    assert SapInboxAgent(bench, EchoAgent("other")).work() == 0
    bench.send("sap.results", result(task()))


def test_a_task_too_large_to_say_back_is_failed_and_does_not_stop_the_agent() -> None:
    many = [f"p{n}" for n in range(256)]
    of = task(context__principles=many, context__pressure={f"q{n}": 1 for n in range(256)})
    assert sap.validate_task(of) == []
    running, failed = AGENT.results(of, AT)
    assert [sap.validate_result(each) for each in (running, failed)] == [[], []]
    assert (failed["status"], failed["error"]["code"]) == ("FAILED", "INTERNAL")
    assert failed["error"]["message"].startswith("too_many_items: ")


def test_every_agent_id_has_a_file_of_its_own(tmp_path: Path) -> None:
    names = ["A-ml-001", "a/b", "x" * 256, "é" * 255 + "y", "é" * 256]
    places = [place_of(name, tmp_path) for name in names]
    assert len(set(places)) == len(names)
    for place in places:
        place.parent.mkdir(exist_ok=True)
        place.with_suffix(".new").write_text("0:1")
    assert places[0].name == "A-ml-001.cursor"


@pytest.mark.parametrize("agent_id", ["", " A", "A\n", "x" * 257])
def test_an_agent_that_could_not_report_does_not_start(agent_id: str) -> None:
    out = CliRunner().invoke(main, ["--agent-id", agent_id])
    assert out.exit_code == 2
    assert "no control characters" in out.output
