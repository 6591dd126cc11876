"""`headrace show` and `headrace trace`: text over the real routes, and the JSON of those routes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from streams.cli import common
from streams.cli.trace import bar, in_order, span_of
from tests.unit.cli.hostile_values import HOSTILE
from tests.unit.cli.looking import look_at_story, run_at
from tests.unit.cli.test_record_lines import is_inert
from tests.unit.routes.stories import Story, lines_of

TRACE = "a7f5d5b2-13a8-4a0d-9ba2-6b1e3c6f9d11"
PACKET = "apc:packet:00000000-0000-4000-8000-000000000002"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    played = Story(lines_of("lineage-graph"), tmp_path_factory.mktemp("story"))
    yield played
    played.scenario.close()


@pytest.fixture
def requests(story: Story, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the paths that are asked for."""
    return look_at_story(story, monkeypatch)


def masked(text: str) -> list[str]:
    """Return lines with times masked."""
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", "<time>", text).splitlines()


def test_a_thing_has_its_steps_and_why(requests: list[str]) -> None:
    lines = masked(run_at("show", PACKET, "--text").stdout)
    assert lines[:3] == [
        "APC  IDEA 00000000 in DISCOVERY  RETRACTED",
        "sender builder-1  recipient sentinel-1  session a7f5d5b2  trace a7f5d5b2",
        "started <time>  ended <time>",
    ]
    assert lines[6:11] == [
        "#  time                     event                       states                verdict   "
        "  rule       cause",
        "1  <time>  non_promotable_complete     - → ARCHIVED          ✔ accepted  -         "
        " apc.packets/0/1",
        "   Accepted and delivered to 1; no acknowledgement is asked for.",
        "2  <time>  retraction_packet_received  ARCHIVED → RETRACTED  -           retracted "
        " apc.packets/0/4",
        "   Retracted by builder-1.",
    ]
    assert lines[12] == "why  ✔ accepted"
    assert "  cause apc.packets/0/1  fact apc.events/0/2" in lines
    assert lines[-3:] == [
        "led to   child_of    apc:packet:00000000",
        "led to   replaces    apc:packet:00000000",
        "led to   retracts    apc:packet:00000000",
    ]
    assert requests == [f"/v1/things/{PACKET.replace(':', '%3A')}"]


@pytest.mark.usefixtures("requests")
def test_a_narrow_terminal_is_not_overrun_by_tables() -> None:
    lines = run_at("show", PACKET, "--text", columns=80).stdout.splitlines()
    assert max(len(line) for line in lines if not line.startswith(("node ", "api "))) <= 80


@pytest.mark.usefixtures("requests")
def test_a_thing_as_it_was() -> None:
    earlier = run_at("show", PACKET, "--text", "--as-of", "apc.events/0/2").stdout
    assert earlier.startswith("APC  IDEA 00000000 in DISCOVERY  ARCHIVED")
    assert "Retracted by" not in earlier


def test_json_is_the_body_of_the_route(story: Story, requests: list[str]) -> None:
    printed = run_at("show", PACKET, "--json").stdout
    assert json.loads(printed) == story.thing(PACKET)[1]
    assert run_at("show", PACKET).stdout.startswith("APC  IDEA"), "text in a pipe too"


@pytest.mark.usefixtures("requests")
def test_an_unknown_node_is_a_negative_answer() -> None:
    result = run_at("show", "apc:packet:x")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "apc:packet:x" in result.stderr


@pytest.mark.parametrize("columns", [80, 120])
def test_a_record_has_its_value_and_what_came_of_it(requests: list[str], columns: int) -> None:
    result = run_at("show", "apc.packets/0/1", "--text", columns=columns)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("apc.packets/0/1  ")
    assert {"value", "what came of it"} <= set(lines)
    assert any(line.startswith("  ✔ accepted") and "apc.events/0/2" in line for line in lines)
    assert max(map(len, lines)) <= columns
    assert requests == ["/v1/records/apc.packets/0/1", "/v1/records/apc.packets/0/1/effects"]


def test_a_fact_has_its_proof(requests: list[str]) -> None:
    lines = run_at("show", "apc.events/0/2", "--text").stdout.splitlines()
    assert {"headers", "value"} <= set(lines)
    assert lines[-3] == "proof"
    assert lines[-2].startswith("✔  derived again")
    assert lines[-1] == "–  not sealed"
    assert requests[-1] == "/v1/records/apc.events/0/2/proof"


def test_a_raw_record_has_its_bytes(story: Story, requests: list[str]) -> None:
    body = story.ask("/v1/records/apc.packets/0/1?bytes=true")[1]
    assert json.loads(run_at("show", "apc.packets/0/1", "--raw", "--json").stdout) == body
    assert body["value_base64"] in run_at("show", "apc.packets/0/1", "--raw").stdout
    assert requests[0] == "/v1/records/apc.packets/0/1?bytes=true"


@pytest.mark.usefixtures("requests")
def test_options_of_a_thing_and_of_a_record_are_not_mixed() -> None:
    for words in ((PACKET, "--raw"), ("apc.packets/0/1", "--as-of", "apc.events/0/2")):
        result = run_at("show", *words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "goes with a " in result.stderr


def test_hostile_texts_in_records(monkeypatch: pytest.MonkeyPatch, story: Story) -> None:
    def ask(path: str, query: str, settings: Any) -> Any:
        body = story.ask(path)[1]
        return {**hostile(body), "topic": body["topic"]} if "topic" in body else hostile(body)

    monkeypatch.setattr(common, "ask", ask)
    for place in ("apc.packets/0/1", "apc.events/0/2"):
        for options in ([], ["--text"], ["--wide"]):
            result = run_at("show", place, *options)
            assert result.exit_code == 0
            assert is_inert(result.stdout.replace("\n", ""))
            assert "\n\tFORGED" not in result.stdout


def test_a_trace_has_a_bar_for_each_thing_below_its_parent(requests: list[str]) -> None:
    lines = masked(run_at("trace", TRACE, "--text").stdout)
    assert lines[:4] == [
        "time                     thing                             state      verdict     rule"
        "          0.007 s",
        "<time>  APC IDEA 00000000 in DISCOVERY    ARCHIVED   ✔ accepted  -             █",
        "<time>    APC IDEA 00000000 in DISCOVERY  RETRACTED  ✔ accepted  -      "
        "          ██████████████████",
        "<time>      APC TRANSFER 00000000 in RE…  ARCHIVED   ✔ accepted  -                    █",
    ]
    started = "<time>  ASAP index.build task-1           submitted  ✔ accepted  task_created  "
    assert any(line.startswith(started) for line in lines)
    assert requests == [f"/v1/traces/{TRACE}"]


def item(node: str, parent: str | None, start: str | None, end: str | None) -> dict[str, Any]:
    return {"node": node, "parent": parent, "started_at": start, "ended_at": end}


def test_bars() -> None:
    first = item("a", None, "2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z")
    second = item("b", "a", "2026-01-01T00:00:05Z", None)
    unknown = item("c", "b", None, None)
    span = span_of([first, second, unknown])
    assert bar(first, span, "#", 11) == "###########"
    assert bar(second, span, "#", 11) == "     ######"
    assert bar(unknown, span, "#", 11) == ""
    assert bar(second, span_of([second]), "#") == "#"
    assert [depth for _, depth in in_order([first, unknown, second])] == [0, 1, 2]


def test_hostile_texts_in_things_and_traces(monkeypatch: pytest.MonkeyPatch, story: Story) -> None:
    for words, path in ((["show", PACKET], None), (["trace", TRACE], f"/v1/traces/{TRACE}")):
        body = story.thing(PACKET)[1] if path is None else story.ask(path)[1]
        monkeypatch.setattr(common, "ask", lambda *_, body=body: hostile(body))
        for options in ([], ["--text"], ["--wide"], ["--json"]):
            result = run_at(*words, *options)
            assert result.exit_code == 0
            assert is_inert(result.stdout.replace("\n", ""))
            assert "\n\tFORGED" not in result.stdout


STABLE = ("node", "parent", "direction", "verdict", "cursor", "next")


def hostile(value: Any) -> Any:
    """Put a hostile text in the place of each text but those that the layout depends on."""
    if isinstance(value, dict):
        return {
            name: each if name in STABLE or name.endswith("_at") else hostile(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [hostile(each) for each in value]
    return HOSTILE if isinstance(value, str) else value
