"""Tests of what came of a record, asked of a gateway."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.envelopes import IDEA_ID, idea
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_answers import conforms


def path(place: str) -> str:
    return f"/v1/records/{place}/effects"


def test_what_is_not_decided_has_no_effects(gateway: GatewayBench) -> None:
    (place,) = gateway.bench.append("apc.packets", idea())
    body = gateway.get(path(place))
    conforms("GET", path(place), 200, body)
    empty: list[str] = []
    assert body == {
        "decided": False,
        "verdicts": empty,
        "facts": empty,
        "messages": empty,
        "edges": empty,
    }
    gateway.bench.host.run()
    decided = gateway.get(path(place), after=place)
    conforms("GET", path(place), 200, decided)
    assert decided["decided"]
    assert [each["agent"] for each in decided["verdicts"]] == ["builder-1"]


def test_a_dead_letter_decides_too(gateway: GatewayBench) -> None:
    place = gateway.bench.send_bytes("apc.packets", b"nonsense")
    body = gateway.get(path(place), after=place)
    assert (body["decided"], body["verdicts"], body["facts"]) == (True, [], [])


@pytest.mark.parametrize(
    ("place", "status", "rule"),
    [
        ("apc.packets/0/99", 404, "record_unknown"),
        ("apc.packets/9/0", 404, "record_unknown"),
        ("apc.packets/0/x", 404, "record_unknown"),
        ("nonsense/0/0", 404, "record_unknown"),
        ("rtes.raw/0/0", 403, "topic_internal"),
        ("sap.lookups/0/0", 403, "topic_internal"),
    ],
)
def test_other_places_are_refused(
    gateway: GatewayBench, place: str, status: int, rule: str
) -> None:
    answer = gateway.ask("GET", path(place))
    conforms("GET", path(place), status, answer.json())
    assert (answer.status_code, answer.json()["rule"]) == (status, rule)


def test_a_prefix_may_be_left_out(tmp_path: Path) -> None:
    with GatewayBench(tmp_path, prefix="acme.") as gateway:
        gateway.send("/v1/apc/packets", idea())
        place = gateway.send("/v1/apc/packets", idea())
        body = gateway.get(path(place), after=place)
        assert [each["verdict"] for each in body["verdicts"]] == ["duplicate"]
        assert body["facts"][0].startswith("acme.apc.events/")
        assert gateway.get(path(place.removeprefix("acme."))) == body
        first = gateway.get("/v1/verdicts")["items"][0]
        assert (first["topic"], first["node"]) == ("apc.events", f"apc:packet:{IDEA_ID}")
        assert first["agent"] == "builder-1"
