"""One thing of any protocol: what is true of every kind, over the scenarios that have it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from streams.gateway.thing_responses import Thing
from streams.log.fetching import records_of
from streams.routes.things import KINDS
from tests.unit.routes.stories import LEARNING, SCENARIOS, Json, Story, lines_of
from topology.lineage import NODE_KINDS, kind_of

QUICK = (
    *("lineage-graph", "sap-signals", "sap-cache", "summit-cancel", "asap-tasks", "asap-calls"),
    *("asap-snapshots", "saop-detectors", "rtes-rewind", "otel-trace", LEARNING),
)
"""They have an example of each kind."""
OTHERS = sorted({path.stem for path in SCENARIOS.glob("*.jsonl")} - set(QUICK))
DECLARED = {kind_of(kind.name) for kind in NODE_KINDS}
UNSUPPORTED = "as_of_unsupported"


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Story]]:
    played = {name: Story(lines_of(name), tmp_path_factory.mktemp(name)) for name in QUICK}
    yield played
    for story in played.values():
        story.scenario.close()


def test_every_declared_kind_is_read_by_its_protocol() -> None:
    assert set(KINDS) == DECLARED


def test_the_scenarios_have_an_example_of_each_kind(stories: dict[str, Story]) -> None:
    kinds = {thing["kind"] for story in stories.values() for _, thing in story.known()}
    assert kinds == set(KINDS)


@pytest.mark.parametrize("name", QUICK)
def test_what_is_true_of_every_thing(name: str, stories: dict[str, Story]) -> None:
    check(stories[name])


def test_titles_of_summit_have_whole_ids(tmp_path: Path) -> None:
    lines = [line.replace('"r1"', '"run-of-desk-7"') for line in lines_of("summit-cancel")]
    story = Story(lines, tmp_path)
    try:
        things = [thing for _, thing in story.known() if "run-of-desk-7" in thing["node"]]
    finally:
        story.scenario.close()
    assert [each["title"] for each in things] == ["invoke run-of-desk-7 of word-stats"]


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_so_it_is_in_all_scenarios(name: str, tmp_path: Path) -> None:
    story = Story(lines_of(name), tmp_path)
    try:
        check(story)
    finally:
        story.scenario.close()


def check(story: Story) -> None:
    fetch = records_of(story.scenario.log)
    for query, thing in story.known():
        Thing.model_validate(thing)
        steps = thing["steps"]
        assert thing["state"] == (steps[-1]["to"] if steps else None)
        assert [step["n"] for step in steps] == list(range(1, len(steps) + 1))
        positions = [
            row[name] for row in (*steps, *thing["verdicts"]) for name in ("cause", "fact")
        ]
        positions += [record["position"] for record in thing["records"]]
        assert all(fetch(each) is not None for each in set(positions) - {None})
        check_details(story, thing)
        check_is_followed(story, thing)
        check_looking_back(story, query, thing)


def check_details(story: Story, thing: Json) -> None:
    """They are what the protocol's own route answers."""
    status, body = story.ask(thing["api"])
    assert (status, _without_age(body)) == (200, _without_age(thing["details"]))


def check_is_followed(story: Story, thing: Json) -> None:
    """The rows are there whose writing tells of changes; a call's is written at its end."""
    view, kind = story.scenario._view, thing["kind"]
    query = KINDS[kind]
    for ids in query.find(view, thing["node"].removeprefix(f"{kind}:"), None):
        if query.row is not None:
            is_there = view.get_many([query.row(ids)]) != [None] or thing["state"] == "open"
        else:
            assert query.rows is not None, f"{kind} is not followed"
            is_there = any(True for prefix in query.rows(ids) for _ in view.scan(prefix))
        assert is_there, thing["node"]


def _without_age(body: Any) -> Any:
    """The age of a cached answer is counted to the moment of the question."""
    if isinstance(body, dict):
        return {name: _without_age(value) for name, value in body.items() if name != "ageSec"}
    return [_without_age(each) for each in body] if isinstance(body, list) else body


def check_looking_back(story: Story, query: str, thing: Json) -> None:
    """The state at a step is its own; steps of one millisecond may count as one."""
    for step in thing["steps"]:
        point = step["fact"] or step["cause"] or step["at"]
        more = f"{query}&" if query else "?"
        status, then = story.thing(thing["node"], f"{more}as_of={quote(point, safe='')}")
        if (status, then.get("rule")) in ((422, UNSUPPORTED), (410, "events_expired")):
            return
        assert status == 200, (thing["node"], step, then)
        last = then["steps"][-1]
        assert last == step or (last["at"] == step["at"] and last["n"] > step["n"])
        assert then["state"] == last["to"]


PACKET = "apc:packet:00000000-0000-4000-8000-000000000002"


def test_a_step_is_what_one_record_did_and_names_its_verdict(stories: dict[str, Story]) -> None:
    _, thing = stories["lineage-graph"].thing(PACKET)
    first, last = thing["steps"]
    assert (first["from"], first["to"], first["verdict"]) == (None, "ARCHIVED", "accepted")
    assert (last["event"], last["to"]) == ("retraction_packet_received", "RETRACTED")
    assert thing["ended_at"] == last["at"]
    assert {record["role"] for record in thing["records"]} == {"command", "fact", "inbox"}
    assert {("same_trace", "out"), ("retracts", "in"), ("child_of", "in")} <= list_links(thing)


def list_links(thing: Json) -> set[tuple[str, str]]:
    return {(each["relation"], each["direction"]) for each in thing["links"]}


def test_links_of_the_past_are_those_until_then(stories: dict[str, Story]) -> None:
    """Look at a packet before it was retracted: what retracts it is not linked yet."""
    _, thing = stories["lineage-graph"].thing(PACKET)
    (first, _) = thing["steps"]
    _, past = stories["lineage-graph"].thing(PACKET, f"?as_of={quote(first['fact'], safe='')}")
    assert ("retracts", "in") in list_links(thing)
    assert ("retracts", "in") not in list_links(past)
    assert ("same_trace", "out") in list_links(past)


def test_the_newest_verdict_on_an_expired_packet_is_its_expiry(tmp_path: Path) -> None:
    story = Story(lines_of("acknowledgements"), tmp_path)
    try:
        things = [thing for _, thing in story.known() if thing["state"] == "EXPIRED"]
        assert things
        for newest, *earlier in (thing["verdicts"] for thing in things):
            assert (newest["verdict"], newest["cause"]) == ("fired", None)
            assert "fired" not in {verdict["verdict"] for verdict in earlier}
    finally:
        story.scenario.close()


def test_a_fact_that_rows_do_not_place_is_the_one_that_its_cause_had(
    stories: dict[str, Story],
) -> None:
    for name, kind, topic in (
        ("asap-tasks", "asap:task", "asap.events"),
        ("asap-calls", "asap:call", "asap.events"),
        ("sap-signals", "sap:outcome", "sap.outcomes"),
        ("saop-detectors", "saop:turn", "saop.log"),
    ):
        things = [thing for _, thing in stories[name].known() if thing["kind"] == kind]
        facts = {step["fact"] for thing in things for step in thing["steps"] if step["cause"]}
        assert {fact.split("/")[0] for fact in facts if fact is not None} == {topic}


def test_refused_transitions_are_steps_of_their_task(tmp_path: Path) -> None:
    story = Story(lines_of("rtes-transitions"), tmp_path)
    try:
        _, thing = story.thing("saop:task:A", "?session_id=s-9")
        steps, refusals = thing["steps"], thing["verdicts"]
        refused = [step for step in steps if step["verdict"] == "rejected"]
        assert refused
        assert all(step["from"] == step["to"] and step["message"] for step in refused)
        assert {step["fact"] for step in refused} <= {each["fact"] for each in refusals}
        assert {each["verdict"] for each in refusals} == {"rejected"}
        check_looking_back(story, "?session_id=s-9", thing)
    finally:
        story.scenario.close()


def test_an_unknown_node_gets_404(stories: dict[str, Story]) -> None:
    story = stories["lineage-graph"]
    for node in ("apc:packet:nobody", "apc:packet:", "apc:packet", "apc:nothing:x", "x", "trace:x"):
        status, body = story.thing(node)
        assert (status, body["rule"]) == (404, "node_unknown"), node
        is_name = node in ("apc:packet:nobody", "trace:x")
        assert ("headrace search" in body["detail"]) is not is_name, node


def test_a_thing_that_was_not_there_yet_gets_404(stories: dict[str, Story]) -> None:
    status, body = stories["lineage-graph"].thing(PACKET, "?as_of=2026-06-01T08:00:00Z")
    assert (status, body["rule"]) == (404, "node_unknown")


def test_the_page_names_the_kinds_with_and_without_as_of() -> None:
    page = (SCENARIOS.parent / "docs/things.md").read_text("utf-8")
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| ")]
    named = {row[0].strip().lower(): row[1:] for row in rows}
    for protocol in {kind.partition(":")[0] for kind in KINDS} - {"trace"}:
        listed = [set(re.findall(r"`(\w+)`", cell)) for cell in named[protocol]]
        kinds = {
            kind.removeprefix(f"{protocol}:"): query
            for kind, query in KINDS.items()
            if kind.startswith(f"{protocol}:")
        }
        past = {kind for kind, query in kinds.items() if query.past is not None}
        assert listed == [past, set(kinds) - past], protocol


def test_kinds_whose_route_has_no_as_of_refuse_it(stories: dict[str, Story]) -> None:
    query = "?as_of=2026-06-01T09:00:00Z"
    status, body = stories["lineage-graph"].thing("apc:protocol:px", query)
    assert (status, body["rule"], body["path"]) == (422, UNSUPPORTED, "as_of")


def test_the_session_decides_between_packets_of_one_id(tmp_path: Path) -> None:
    line = json.loads(lines_of("lineage-graph")[0])
    story = Story(lines_of("lineage-graph"), tmp_path)
    try:
        line["value"]["trace"]["session_id"] = "other"
        story.scenario.line(0, json.dumps({"topic": line["topic"], "value": line["value"]}))
        node = f"apc:packet:{line['value']['packet_id']}"
        status, body = story.thing(node)
        first = "a7f5d5b2-13a8-4a0d-9ba2-6b1e3c6f9d11"
        assert (status, body["rule"]) == (409, "node_ambiguous")
        assert body["candidates"] == [first, "other"]
        status, body = story.thing(node, "?session_id=other")
        assert (status, body["session_id"]) == (200, "other")
        status, body = story.thing(node, "?session_id=third")
        assert (status, body["rule"]) == (404, "node_unknown")
        assert story.ask(f"/v1/things/{quote(node, safe='')}?as_of=2026-06-01T09:00:00Z")[0] == 409
    finally:
        story.scenario.close()


def test_a_bad_cursor_is_refused(stories: dict[str, Story]) -> None:
    status, body = stories["lineage-graph"].thing(PACKET, "?cursor=AAAA")
    assert (status, body["rule"], body["path"]) == (422, "query_value", "cursor")


def test_steps_come_in_pages(stories: dict[str, Story], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.routes.things.MOST_STEPS", 1)
    story = stories["lineage-graph"]
    _, first = story.thing(PACKET)
    _, second = story.thing(PACKET, f"?cursor={first['next']}")
    assert [step["n"] for step in (*first["steps"], *second["steps"])] == [1, 2]
    assert second["next"] is None
    assert first["state"] == second["state"] == second["steps"][-1]["to"]
