"""Who facts name, through all processors: over hops, over time, and after a wait."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from streams.engine.principals import Principals
from streams.engine.records import header, position
from streams.errors import InvalidInput
from streams.ingress.edges import ingress_topic_of
from streams.processing.encode import to_output
from streams.protocols.commands import all_processors
from tests.unit.envelopes import idea
from tests.unit.views.bench import Bench
from topology import topics
from topology.declarations import TopicKind

KEY = "a key of these tests"
OURS = Principals([KEY.encode()])
HOLD_MS = 60_000


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, principal_key=KEY)
    yield made
    made.close()


def send(bench: Bench, topic: str, value: Any, principal: str | None) -> str:
    """As the gateway does for a token; the position."""
    bench.tick()
    output = to_output(ingress_topic_of(topic), value, bench.now, bench.settings)
    if principal is not None:
        output = OURS.signed(output, principal.encode(), bench.now)
    (record,) = bench.log.append([output])
    bench.host.run()
    return position(record)


def causes_and_principals(bench: Bench, topic: str) -> list[tuple[str, str]]:
    """The cause and the principal of each record, in the order of the log."""
    return [
        (
            (header(record, "headrace-cause") or b"").decode(),
            (header(record, "headrace-principal") or b"").decode(),
        )
        for record in bench.records(topic)
    ]


def example(name: str, **changes: Any) -> Any:
    value = json.loads(files("schemas").joinpath("examples", f"{name}.json").read_text())
    return {**value, **changes}


def test_a_fact_and_its_deliveries_name_the_sender(bench: Bench) -> None:
    cause = send(bench, "apc.packets", idea(1), "builder-1")
    assert (cause, "builder-1") in causes_and_principals(bench, "apc.events")
    assert causes_and_principals(bench, "apc.inbox") == [(cause, "builder-1")]


def test_what_time_alone_leads_to_is_the_services(bench: Bench) -> None:
    cause = send(bench, "apc.packets", idea(1), "builder-1")
    before = len(causes_and_principals(bench, "apc.events"))
    bench.now += 61_000
    bench.host.run()
    expired = causes_and_principals(bench, "apc.events")[before:]
    assert expired
    assert set(expired) == {(cause, "service")}


@pytest.mark.parametrize("restarted", [False, True])
def test_a_turn_that_has_waited_is_its_senders(bench: Bench, restarted: bool) -> None:
    """Released by another's, or by time; its row keeps who sent it."""
    turns = [example("saop/turn", turn_index=index) for index in range(4)]
    second = send(bench, "saop.turns", turns[1], "saop:developer")
    third = send(bench, "saop.turns", turns[3], None)
    if restarted:
        bench.host.close()
        bench.host = type(bench.host)(
            bench.log, all_processors, bench.settings, bench.folder / "state"
        )
    first = send(bench, "saop.turns", turns[0], "saop:*")
    bench.now += HOLD_MS + 1000
    bench.host.run()
    assert causes_and_principals(bench, "saop.log") == [
        (first, "saop:*"),
        (second, "saop:developer"),
        (third, "unauthenticated"),
    ]


def test_the_events_that_processors_make_name_who_caused_them(bench: Bench) -> None:
    """Over the hop of `rtes.raw`, whose signatures need not be fresh."""
    send(bench, "asap.envelopes", example("asap/task_request"), "urn:asap:agent:planner")
    principals = {principal for _, principal in causes_and_principals(bench, "rtes.events")}
    assert principals == {"urn:asap:agent:planner"}


def test_without_a_key_everything_is_nobodys(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    try:
        cause = send(bench, "apc.packets", idea(1), "builder-1")
        bench.now += 61_000
        bench.host.run()
        assert set(causes_and_principals(bench, "apc.events")) == {(cause, "unauthenticated")}
    finally:
        bench.close()


def test_tables_say_their_cause_alone(bench: Bench) -> None:
    send(bench, "apc.packets", idea(1), "builder-1")
    (row,) = bench.records("apc.packet-states")
    assert {name for name, _ in row.headers} == {"headrace-cause"}


SCENARIOS = Path(__file__).parents[3] / "scenarios"
TALES = (
    *("acknowledgements", "asap-calls", "asap-requests", "asap-tasks", "promotion"),
    *("rtes-rewind", "sap-cache", "sap-single-flight", "saop-order", "summit-run"),
)


def send_scenario(bench: Bench, scenario: Path) -> dict[str, str]:
    """Send what a scenario sends, each line by another; their names by position."""
    sent: dict[str, str] = {}
    for number, text in enumerate(scenario.read_text().splitlines()):
        line = json.loads(text) if text else {}
        if "advance_ms" in line:
            bench.now += line["advance_ms"]
            bench.host.run()
        elif "value" in line and line.get("as") != "service":
            with suppress(InvalidInput):
                principal = f"sender-{number}"
                sent[send(bench, line["topic"], line["value"], principal)] = principal
    return sent


@pytest.mark.parametrize("name", TALES)
def test_in_no_tale_is_anything_nobodys(bench: Bench, name: str) -> None:
    """Records between processors, answers that waited for others, timers."""
    sent = send_scenario(bench, SCENARIOS / f"{name}.jsonl")
    assert len(sent) > 2
    public = [t for t in topics.ALL if t.kind in (TopicKind.FACT, TopicKind.INBOX)]
    pairs = [each for topic in public for each in causes_and_principals(bench, topic.name)]
    assert set(sent) <= {cause for cause, _ in pairs}
    for cause, principal in pairs:
        names = {sent[cause]} if cause in sent else set(sent.values())
        assert principal in names | {"service"}, cause
