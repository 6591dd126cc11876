"""Playbooks and punch-cards over the routes: made by real tasks, then searched and fetched."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from streams.client import Client
from streams.client.values import Scalar
from streams.protocols.sap.processor.learning import _purpose
from tests.unit.cli.looking import look_at
from tests.unit.cli.test_cli import run
from tests.unit.protocols.sap.learning.support import Bench as LearningBench
from tests.unit.protocols.sap.learning.support import operator, outcome
from tests.unit.protocols.sap.queries.stage import SapInboxAgent, result, signal, task
from tests.unit.protocols.sap.queries.test_learning import playbook, written
from tests.unit.views.bench import Bench
from topology.sap import SAP_KNOWLEDGE

PATH = "/v1/sap/librarian"
Json = dict[str, Any]
ROWS = [
    ("a.b", None, "e0.1"),
    ("a.b", "NORDIC", "e0.1"),
    ("a.b", "NORDIC", "e0.2"),
    ("z", None, "e0.1"),
]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path, sap_single_flight=False)
    yield bench
    bench.close()


def names(bench: Bench, query: str = "") -> list[tuple[str, str | None, str]]:
    items = bench.look(PATH, query)["items"]
    return [(each["capability"], each["territory"], each["fingerprint"]) for each in items]


def test_playbooks_are_searched_by_capability_territory_and_fingerprint(bench: Bench) -> None:
    written(bench, SAP_KNOWLEDGE, *(playbook(*row) for row in ROWS))
    assert names(bench) == ROWS
    assert names(bench, "capability=a.b") == ROWS[:3]
    assert names(bench, "capability=a.b&territory=NORDIC") == ROWS[1:3]
    assert names(bench, "territory=") == [ROWS[0], ROWS[3]]
    assert names(bench, "fingerprint=e0.1") == [ROWS[0], ROWS[1], ROWS[3]]
    page = bench.look(PATH, "limit=2")
    assert len(page["items"]) == 2
    assert names(bench, f"limit=2&cursor={page['next']}") == ROWS[2:]


def test_a_playbook_of_an_earlier_release_has_no_punch_card(bench: Bench) -> None:
    written(bench, SAP_KNOWLEDGE, playbook(*ROWS[1]))
    book = bench.look(f"{PATH}/a.b/e0.1", "territory=NORDIC")
    assert book["punchCard"] is None
    assert bench.get(f"{PATH}/a.b/e0.1").status == 404


def snippet() -> Json:
    return {
        "outputContract": {
            "schema_json": '{"type":"string"}',
            "format": "text",
            "extra_json": None,
        },
        "constraints": ["No PII"],
        "evidence": ["sap.tasks/0/1", "sap.results/0/2"],
    }


def test_a_punch_card_has_the_best_task_and_its_follow_ups_as_snippets() -> None:
    bench = LearningBench()
    members = {
        "metrics": {"tokens": 3.0},
        "nextActions": ["report.write", "notify", "review report.check"],
        "snippet": snippet(),
    }
    bench.each(*(outcome(n, **members) for n in range(5)))
    bench.each(operator(9, "approval", decision="approved"))
    book = bench.playbook()
    assert book is not None
    card = book["punchCard"]
    assert card["evidence"] == ["sap.tasks/0/1", "sap.results/0/2"]
    assert card["version"] == book["version"]
    first, *others = json.loads(card["steps_json"])
    assert first["target"] == {"capability": book["capability"]}
    assert first["constitutionalContext"]["constraints"] == ["No PII"]
    assert first["outputContract"] == {"schema": {"type": "string"}, "format": "text"}
    assert first["expectedMetrics"] == {"tokens": 3}
    assert first["punchCard"] == {
        "key": card["key"],
        "version": card["version"],
        "evidence": card["evidence"],
    }
    bare = [{n: v for n, v in step.items() if n != "punchCard"} for step in others]
    assert bare == [
        {"kind": "notify"},
        {"target": {"capability": "report.write"}},
        {"kind": "review", "target": {"capability": "report.check"}},
    ]


@pytest.mark.parametrize(
    ("action", "purpose"),
    [
        ({"target": {"capability": "a.b"}, "action": "x"}, "a.b"),
        ({"action": "retry"}, "retry"),
        ({"kind": "review", "capability": "a.b"}, "review a.b"),
        ({"capability": "a.b"}, "a.b"),
        ({"type": "notify", "to": "ops"}, "notify"),
        ({"kind": 5}, "other"),
        ({}, "other"),
        ("retry", "other"),
    ],
)
def test_a_follow_up_is_recorded_by_what_it_has(action: Any, purpose: str) -> None:
    assert _purpose(action) == purpose


def learned_book(bench: Bench) -> Json:
    """Return the playbook that five tasks make, of which one is approved."""
    context = {"context__constraints": ["No PII"], "outputContract": {"format": "json"}}
    tasks = [task(number, **context) for number in range(1, 6)]
    bench.send("sap.tasks", *tasks)
    SapInboxAgent(bench).work()
    bench.send("sap.signals", signal(tasks[0], kind="approval", decision="approved"))
    book: Json
    (book,) = bench.look(PATH, "capability=report.summarise")["items"]
    return book


def test_tasks_make_a_card_whose_steps_are_sent_on_as_next_actions(bench: Bench) -> None:
    book = learned_book(bench)
    card = book["punchCard"]
    (step,) = card["steps"]
    assert book["active"]
    assert step["target"] == {"capability": "report.summarise"}
    assert step["constitutionalContext"] == {"territory": "NORDIC", "constraints": ["No PII"]}
    assert step["outputContract"] == {"format": "json"}
    assert step["expectedMetrics"] == book["metricMeans"]
    assert card["key"] == f"report.summarise/NORDIC/{book['fingerprint']}"
    assert [place.rsplit("/", 2)[0] for place in card["evidence"]] == ["sap.tasks", "sap.results"]
    one = bench.look(f"{PATH}/report.summarise/{book['fingerprint']}", "territory=NORDIC")
    assert one == book
    last = task(6, payload={"document": "other"})
    bench.send("sap.tasks", last)
    bench.send("sap.results", result(last, output="done", nextActions=card["steps"]))
    outcome_json = bench.look(f"/v1/sap/tasks/{last['taskId']}")["outcomes"][-1]
    assert outcome_json["nextActions"] == card["steps"]
    learned = bench.look("/v1/sap/learning", "capability=report.summarise")["items"]
    assert {"report.summarise": 1} in [each["nextActionCounts"] for each in learned]


class BenchClient(Client):
    """The Python client, whose queries a system in memory answers."""

    def __init__(self, bench: Bench) -> None:
        super().__init__("http://127.0.0.1:9")
        self._bench = bench

    async def query(self, path: str, *, after: str | None = None, **params: Scalar) -> Any:
        members = {name: value for name, value in params.items() if value is not None}
        return self._bench.look(path, urlencode(members))


def test_the_client_searches_and_fetches_punch_cards(bench: Bench) -> None:
    written(bench, SAP_KNOWLEDGE, *(playbook(*row) for row in ROWS))
    book = learned_book(bench)
    librarian = BenchClient(bench).librarian
    books = asyncio.run(librarian.search("a.b", "NORDIC"))
    assert [each["fingerprint"] for each in books] == ["e0.1", "e0.2"]
    assert asyncio.run(librarian.search(territory="")) == bench.look(PATH, "territory=")["items"]
    place = ("report.summarise", book["fingerprint"], "NORDIC")
    assert asyncio.run(librarian.punch_card(*place)) == book["punchCard"]
    assert asyncio.run(librarian.punch_card("z", "e0.1")) is None


def test_the_command_line_searches_and_fetches_punch_cards(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_at(bench, monkeypatch)
    written(bench, SAP_KNOWLEDGE, *(playbook(*row) for row in ROWS))
    book = learned_book(bench)
    listed = run("sap", "librarian", "report.summarise", "--territory", "NORDIC", "--json")
    assert listed.exit_code == 0, listed.output
    assert json.loads(listed.stdout)["items"] == [book]
    table = run("sap", "librarian", "a.b").stdout
    assert table.count("NORDIC") == 2
    place = ("report.summarise", book["fingerprint"], "--territory", "NORDIC")
    fetched = run("sap", "punch-card", *place)
    assert fetched.exit_code == 0, fetched.output
    assert json.loads(fetched.stdout) == book["punchCard"]
    assert run("sap", "punch-card", "report.summarise", "e0.9").exit_code == 1
