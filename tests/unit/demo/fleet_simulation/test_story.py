"""The generated run is always the same, and holds what it is there to show."""

from __future__ import annotations

from collections import Counter

import pytest

from streams.demo.fleet_simulation import GENERATIONS, PROTOCOLS, Protocol, tell
from streams.demo.fleet_simulation.world import at
from streams.ingress.kinds import KINDS
from streams.processing.ingress import check
from streams.settings import Settings

pytestmark = pytest.mark.slow


def test_the_same_seed_makes_the_same_packets() -> None:
    assert tell().packets == tell().packets
    assert tell(seed=1).packets != tell(seed=2).packets


def test_runs_of_other_names_have_other_sessions_and_protocols() -> None:
    story = tell("another", suffix="@x")
    assert set(story.sessions.values()) == {f"another-{use_case}" for use_case in story.sessions}
    named = {sent.packet["lineage"]["protocol_id"] for sent in story.packets if _bears(sent.packet)}
    assert named == {story.protocol_id(protocol.name) for protocol in PROTOCOLS}


def _bears(packet: dict[str, object]) -> bool:
    return "lineage" in packet


def test_it_has_the_size_and_the_kinds_that_it_should_have() -> None:
    story = tell()
    assert [generation.number for generation in story.generations] == list(range(GENERATIONS + 1))
    assert 4500 < len(story.packets) < 5500
    kinds = Counter(sent.packet["packet_type"] for sent in story.packets)
    assert kinds.keys() == {
        "TASK_IR", "IDEA", "CLAIM", "ARTIFACT", "SIGNAL", "HEARTBEAT", "EVAL", "TRANSFER",
        "ARBITRATION", "DECISION", "RETRACTION", "ACK", "NACK", "ERROR",
    }  # fmt: skip
    signals = {s.packet["payload"].get("signal") for s in story.packets}
    assert {"VETO", "RESUME", "STOP", "SYNC"} <= signals


def test_every_packet_is_valid_at_the_edge() -> None:
    for sent in tell(checks_drift=True).packets:
        _, problems = check(KINDS["apc.packet"], sent.packet, 0, Settings())
        assert problems == []


def test_evaluations_come_late() -> None:
    def is_late(packet: dict[str, dict[str, object]]) -> bool:
        return packet["trace"]["task_id"] != f"g{packet['trace']['generation']:02d}-research"

    late = [
        packet
        for packet in (sent.packet for sent in tell().packets)
        if packet["packet_type"] == "EVAL"
        and not packet["trace"]["task_id"].startswith(f"g{packet['trace']['generation']:02d}")
    ]
    assert len(late) > 50
    assert all(is_late(packet) for packet in late)


def test_a_curve_is_even_between_its_points_and_level_outside() -> None:
    curve = ((10, 0.2), (20, 0.4), (30, 0.4))
    values = [round(at(curve, generation), 3) for generation in (0, 10, 15, 20, 25, 30, 40)]
    assert values == [0.2, 0.2, 0.3, 0.4, 0.4, 0.4, 0.4]


def test_teachers_are_not_their_own_students() -> None:
    def apart(protocol: Protocol) -> bool:
        return not set(protocol.teachers) & set(protocol.students)

    assert all(apart(protocol) for protocol in PROTOCOLS)
