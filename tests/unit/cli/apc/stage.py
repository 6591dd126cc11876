"""A session of APC in memory: an idea with its acknowledgement, and transfers until one decays."""

from __future__ import annotations

from typing import Any

from tests.unit.envelopes import ack, idea
from tests.unit.protocols.apc.queries.facts import transfer
from tests.unit.views.bench import Bench

SESSION = "s1"
REFUSED = "00000000-0000-4000-8000-000000000010"


def fill(bench: Bench) -> None:
    """Send an idea, its acknowledgement, a second idea, a refused transfer and six more."""
    packet = idea(1)
    bench.send("apc.packets", packet, ack(packet, 2), idea(3))
    bench.send("apc.packets", *map(_transfer, range(10, 17)))
    bench.view.catch_up(0)


def _transfer(number: int) -> dict[str, Any]:
    score = 0.84 if number == 10 else 0.95
    made: dict[str, Any] = transfer(
        number, "px", trace__session_id=SESSION, payload__sender_score=score
    )
    return made
