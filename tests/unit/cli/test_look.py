"""`headrace overview`, `verdicts`, `agents`, `search` and `explain` over the real routes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from streams.cli import common
from streams.cli.explain import fails
from streams.cli.overview_figures import sparkline
from streams.routes.table import find, parameters_of
from streams.settings import Settings
from streams.views.parse import QueryParams
from tests.unit.cli.hostile_values import HOSTILE
from tests.unit.cli.looking import look_at_story, run_at
from tests.unit.cli.test_record_lines import is_inert
from tests.unit.routes.stories import Story, lines_of

PACKET = "00000000-0000-4000-8000-000000000001"
FACT = "apc.events/0/0"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    played = Story(lines_of("refusals"), tmp_path_factory.mktemp("story"))
    yield played
    played.scenario.close()


@pytest.fixture(autouse=True)
def requests(story: Story, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the paths that are asked for."""
    return look_at_story(story, monkeypatch)


def body(*words: str) -> Any:
    return json.loads(run_at(*words, "--json").stdout)


def test_the_overview_counts_what_was_decided() -> None:
    overview = body("overview")
    lines = run_at("overview", "--text").stdout.splitlines()
    counts = {line.split()[0]: int(line.split()[1]) for line in lines[2:6]}
    assert counts == {
        "commands": overview["commands"],
        "accepted": overview["accepted"],
        "duplicate": overview["duplicate"],
        "refused": overview["rejected"],
    }
    assert counts["refused"] > 0
    rules = [each for each in overview["rules"] if each["verdict"] == "rejected"]
    for rule in rules:
        assert any(rule["rule"] in line and "✖ refused" in line for line in lines), rule


@pytest.mark.parametrize("columns", [80, 120])
def test_nothing_is_wider_than_the_terminal(columns: int) -> None:
    for words in (["overview"], ["verdicts"], ["agents"], ["search", "00000000"]):
        lines = run_at(*words, "--text", columns=columns).stdout.splitlines()
        assert lines
        assert all(len(line) <= columns for line in lines), words


def test_verdicts_are_listed_and_filtered() -> None:
    items = body("verdicts")["items"]
    rejected = [item for item in items if item["verdict"] == "rejected"]
    assert rejected
    text = run_at("verdicts", "--verdict", "rejected", "--text", "--wide").stdout
    for item in rejected:
        assert item["rule"] in text
    assert body("verdicts", "--rule", "phase_type")["items"] == [
        item for item in items if item["rule"] == "phase_type"
    ]
    assert body("verdicts", "--to", "2020-01-01T00:00:00Z")["items"] == []


def test_agents_are_listed_with_what_became_of_their_records() -> None:
    items = body("agents")["items"]
    assert items
    lines = run_at("agents", "--text", "--wide").stdout.splitlines()
    assert lines[0].split() == [
        *("agent", "protocol", "accepted", "duplicate", "refused", "last", "last", "rule")
    ]
    assert len(lines) == len(items) + 1


def test_a_search_finds_by_the_beginning_and_exits_with_1_without_results() -> None:
    (item, *_) = body("search", "7f0c2f5d")["items"]
    assert item["node"].startswith("apc:packet:7f0c2f5d")
    assert item["title"] in run_at("search", "7f0c2f5d", "--text", "--wide").stdout
    missing = run_at("search", "none-such", "--json")
    assert missing.exit_code == 1
    assert json.loads(missing.stdout)["items"] == []


def test_an_explanation_derives_the_verdict_again() -> None:
    verdicts = body("verdicts", "--protocol", "apc", "--rule", "phase_type")["items"]
    node = verdicts[0]["node"]
    answer = body("explain", node)
    assert answer["proof"]["rederived"]["outcome"] == "holds"
    result = run_at("explain", node, "--text")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == node
    assert any(line.startswith("✔  derived again") for line in lines)
    assert lines[-1] == "–  not sealed"


def test_a_record_and_its_fact_are_explained_alike() -> None:
    verdict = body("verdicts", "--protocol", "apc", "--rule", "phase_type")["items"][0]
    for position in (verdict["cause"], verdict["fact"]):
        answer = body("explain", position)
        assert answer["verdicts"] == [verdict]
        assert [each["position"] for each in answer["proofs"]] == [verdict["fact"]]
        result = run_at("explain", position, "--text")
        assert result.exit_code == 0
        lines = result.stdout.splitlines()
        assert lines[0] == position
        assert any("✖ refused" in line and "phase_type" in line for line in lines)
        assert lines[-2].startswith("✔  derived again")


def test_an_explanation_of_nothing_says_so() -> None:
    result = run_at("explain", f"apc:packet:{PACKET[:-1]}9")
    assert result.exit_code == 1
    assert "headrace: " in result.stderr


@pytest.mark.parametrize(
    ("proof", "expected"),
    [
        ({}, False),
        ({"recorded": False}, True),
        ({"rederived": {"outcome": "differs", "detail": ""}}, True),
        ({"rederived": {"outcome": "not_derivable", "detail": ""}}, False),
        ({"sealed": {"signature": "invalid"}}, True),
        ({"sealed": {"signature": "not_checked"}}, False),
    ],
)
def test_a_proof_fails_only_where_something_contradicts(
    proof: dict[str, Any], expected: bool
) -> None:
    good = {
        "recorded": True,
        "rederived": {"outcome": "holds", "detail": ""},
        "sealed": {"signature": "valid"},
    }
    assert fails({**good, **proof}) is expected


def test_a_failed_proof_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    ask_story = common.ask

    def ask(path: str, query: str, settings: Settings) -> Any:
        answer = ask_story(path, query, settings)
        if path.endswith("/proof"):
            answer = {**answer, "rederived": {"outcome": "differs", "detail": "another rule"}}
        return answer

    verdicts = body("verdicts", "--protocol", "apc")["items"]
    node = next(each["node"] for each in verdicts if each["node"])
    monkeypatch.setattr(common, "ask", ask)
    result = run_at("explain", node, "--text")
    assert result.exit_code == 1
    assert "✖  derived otherwise  another rule" in result.stdout
    for position in (verdicts[0]["cause"], verdicts[0]["fact"]):
        assert run_at("explain", position).exit_code == 1


def test_sparklines() -> None:
    assert sparkline([]) == sparkline([0, 0]) == ""
    assert sparkline([0, 1, 8]) == " ▁█"
    assert sparkline([4, 4]) == "██"


def test_hostile_texts_are_inert(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(value: Any) -> Any:
        match value:
            case dict():
                return {name: spoil(each) for name, each in value.items()}
            case list():
                return [spoil(each) for each in value]
            case str() if not value.startswith("2026"):
                return HOSTILE
        return value

    bodies = {path: common.ask(path, "", Settings()) for path in ("/v1/verdicts", "/v1/agents")}
    monkeypatch.setattr(common, "ask", lambda path, query, settings: spoil(bodies[path]))
    for words in (["verdicts"], ["agents"]):
        for line in run_at(*words, "--text", "--wide").stdout.splitlines():
            assert is_inert(line)


ASKED = [
    ("apc trace --verdict rejected --sender a --state ROUTED --from 2026-01-01T00:00:00Z", {}),
    ("saop rewinds --session s --task t --state lapsed", {"session_id": "s", "task_id": "t"}),
    ("rtes events --session s --after-sequence 7", {"after_sequence": "7"}),
    ("summit runs --kind tool --caller c --root --to 2026-01-01T00:00:00Z", {"root": "true"}),
    ("summit agents --state withdrawn", {"state": "withdrawn"}),
    ("asap conversations --participant urn:x", {"participant": "urn:x"}),
    ("asap tasks --order newest", {"order": "newest"}),
    ("sap cache --capability c --territory T", {"capability": "c", "territory": "T"}),
    ("dlq records --topic apc.packets --code c --state ready", {"topic": "apc.packets"}),
    ("agents --from 2026-01-01T00:00:00Z", {"from": "2026-01-01T00:00:00Z"}),
    ("lineage trace:s --as-of apc.packets/0/1", {"as_of": "apc.packets/0/1"}),
]


@pytest.mark.parametrize(("words", "members"), ASKED)
def test_a_filter_is_a_parameter_of_the_route(
    words: str, members: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests_sent: list[tuple[str, str]] = []

    def ask(path: str, query: str, settings: Settings) -> Any:
        requests_sent.append((path, query))
        raise common.error_of_problem(404, {"detail": "nothing", "rule": "node_unknown"})

    monkeypatch.setattr(common, "ask", ask)
    assert run_at(*words.split()).exit_code == 1
    ((path, query),) = requests_sent
    route, _ = find("GET", path)
    params = QueryParams(query, parameters_of(route))  # it raises for what the route does not take
    assert {name: params.text(name) for name in members} == members


@pytest.mark.parametrize(
    "words",
    [
        "sap cache --versions",
        "sap cache KEY --capability c",
        "sap cache --verify --limit 3",
        "sap cache --as-of apc.packets/0/1",
        "sap learning --heuristics",
    ],
)
def test_options_of_another_form_are_refused(words: str) -> None:
    out = run_at(*words.split())
    assert (out.exit_code, out.stdout) == (2, "")
