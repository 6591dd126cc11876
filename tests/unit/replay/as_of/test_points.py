"""Which points can be looked back to, and what is said of others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from schemas.formats import iso_ms
from tests.unit.envelopes import ack, idea, packet_id, transition
from tests.unit.views.bench import START_MS, Bench

PACKET = f"/v1/apc/sessions/s1/packets/{packet_id(1)}"


def as_of(point: str) -> str:
    return f"as_of={quote(point, safe='')}"


def refusal(bench: Bench, query: str, path: str = PACKET) -> tuple[int, str, Any]:
    bench.view.catch_up(0)
    answer = bench.get(path, query)
    return answer.status, answer.body["rule"], answer.body.get("path")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    system = Bench(tmp_path)
    yield system
    system.close()


@pytest.fixture
def positions(bench: Bench) -> list[str]:
    """The positions of a packet that waits, and of the answer that it gets."""
    waits = idea(1)
    return bench.send("apc.packets", waits) + bench.send("apc.packets", ack(waits, 2))


def test_a_position_and_its_time_show_the_same(bench: Bench, positions: list[str]) -> None:
    states = [bench.look(PACKET, as_of(place))["state"] for place in positions]
    assert states == ["ROUTED", bench.look(PACKET)["state"]]
    first = bench.look(PACKET)["logged_at"]
    assert bench.look(PACKET, as_of(first)) == bench.look(PACKET, as_of(positions[0]))


def test_a_fact_is_a_point_too(bench: Bench, positions: list[str]) -> None:
    partition = positions[0].split("/")[1]
    facts = [f"apc.events/{partition}/{n}" for n in range(20)]
    bench.view.catch_up(0)
    answers = [bench.get(PACKET, as_of(fact)) for fact in facts]
    states = [answer.body["state"] for answer in answers if answer.status == 200]
    assert states[0] == "ROUTED"
    assert states[-1] == bench.look(PACKET)["state"]


def test_what_came_later_is_not_there_yet(bench: Bench, positions: list[str]) -> None:
    assert refusal(bench, as_of(iso_ms(START_MS))) == (404, "not_found", None)
    (other,) = bench.send("rtes.raw", transition())
    bench.send("apc.packets", idea(7))
    later = f"/v1/apc/sessions/s1/packets/{packet_id(7)}"
    assert refusal(bench, as_of(other), later) == (404, "not_found", None)
    assert bench.look(PACKET, as_of(other)) == bench.look(PACKET)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00"])
def test_what_is_no_point_is_refused(bench: Bench, positions: list[str], text: str) -> None:
    assert refusal(bench, as_of(text)) == (422, "query_value", "as_of")


@pytest.mark.parametrize(
    "place", ["apc.packet-states/0/0", "nowhere/0/0", "apc.packets/9/0", "apc.packets/0"]
)
def test_a_place_that_cannot_be_is_refused(bench: Bench, positions: list[str], place: str) -> None:
    assert refusal(bench, as_of(place)) == (422, "query_value", "as_of")


def test_the_future_is_refused(bench: Bench, positions: list[str]) -> None:
    topic, partition, offset = positions[-1].split("/")
    ahead = f"{topic}/{partition}/{int(offset) + 1}"
    assert refusal(bench, as_of(ahead)) == (422, "as_of_ahead", "as_of")
    assert refusal(bench, as_of(iso_ms(bench.now + 1))) == (422, "as_of_ahead", "as_of")


def test_a_marker_is_no_record(bench: Bench, positions: list[str]) -> None:
    partition = positions[0].split("/")[1]
    (marker,) = [
        n for n in range(2) if refusal(bench, as_of(f"apc.events/{partition}/{n}"))[0] == 422
    ]
    assert marker == 1


def test_it_does_not_go_with_after(bench: Bench, positions: list[str]) -> None:
    query = f"after={positions[0]}&{as_of(positions[0])}"
    assert refusal(bench, query) == (422, "query_value", "as_of")


def test_what_is_not_decided_yet_is_said_to_be_so(bench: Bench, positions: list[str]) -> None:
    (place,) = bench.append("apc.packets", idea(9))
    assert refusal(bench, as_of(place)) == (409, "as_of_undecided", None)
    bench.host.run()
    assert bench.look(PACKET, as_of(place)) == bench.look(PACKET)


def test_a_list_takes_none(bench: Bench, positions: list[str]) -> None:
    assert refusal(bench, as_of(positions[0]), "/v1/apc/packets") == (422, "query_value", "as_of")


def test_of_tasks_of_saop_one_is_looked_back_to(bench: Bench, positions: list[str]) -> None:
    point = as_of(iso_ms(bench.now))
    assert refusal(bench, point, "/v1/saop/tasks") == (422, "query_value", "session_id")
    query = f"session_id=s0&{point}"
    assert refusal(bench, query, "/v1/saop/tasks") == (422, "query_value", "task_id")


def test_an_edge_of_the_lineage_is_a_point_too(bench: Bench, positions: list[str]) -> None:
    (edge, *_) = bench.records("lineage.edges")
    packet = bench.look(PACKET, as_of(f"lineage.edges/{edge.partition}/{edge.offset}"))
    assert packet["packet_id"] == packet_id(1)
