"""The session row: made by the first accepted packet, reported to RTES, it collects swarms."""

from __future__ import annotations

import uuid

from streams.engine.processor import AvroValue
from tests.unit.processing.harness import START_MS
from tests.unit.protocols.apc.processor.packets import SESSION, Bench, packet
from topology.apc import APC_COORDINATION_TABLE
from topology.core import RTES_RAW


def session_row(bench: Bench) -> AvroValue:
    row = bench.row(APC_COORDINATION_TABLE, SESSION)
    assert row is not None
    return row


def test_the_first_accepted_packet_opens_the_session() -> None:
    bench = Bench()
    bench.give(packet("EVAL", 1, run_phase="RESEARCH"), 0)
    bench.give(packet("IDEA", 2, expires_at="2025-01-01T00:00:00Z"), 1)
    assert bench.row(APC_COORDINATION_TABLE, SESSION) is None
    sent = bench.decide_json(packet("IDEA", 3), START_MS + 2)
    (event,) = bench.of(RTES_RAW, sent)
    name = uuid.uuid5(uuid.NAMESPACE_URL, "headrace:apc:apc.packets/0/2/0")
    assert event.key == SESSION
    assert event.id == str(name)
    assert event.json == {
        "event_id": str(name),
        "session_id": SESSION,
        "origin": "apc",
        "payload": {
            "type": "TASK_TRANSITION",
            "task_id": SESSION,
            "from_state": "none",
            "to_state": "SESSION_OPEN",
            "timestamp": "2026-01-01T00:00:00.002Z",
        },
    }
    row = session_row(bench)
    assert (row["machine"], row["state"], row["history"]) == ("inter", "SESSION_OPEN", [])
    assert (row["swarms"], row["version"]) == (["sw-a"], 1)
    assert row["updated_at"] == START_MS + 2


def test_swarms_of_senders_and_recipients_are_collected() -> None:
    bench = Bench()
    bench.give(packet("IDEA", 1))
    recipients = [{"agent_id": "x", "swarm_id": "sw-c"}, {"agent_id": "y", "swarm_id": "sw-b"}]
    sent = bench.decide_json(packet("IDEA", 2, recipients=recipients))
    assert bench.of(RTES_RAW, sent) == []
    row = session_row(bench)
    assert (row["swarms"], row["version"]) == (["sw-a", "sw-b", "sw-c"], 2)
    bench.give(packet("IDEA", 3, swarm="sw-c"))
    assert session_row(bench)["version"] == 2


def test_each_session_has_its_own() -> None:
    bench = Bench()
    messages = [bench.message(packet("IDEA", n, session=f"s/{n % 2}")) for n in range(4)]
    sent = bench.decide(*messages)
    assert [one.key for one in bench.of(RTES_RAW, sent)] == ["s/0", "s/1"]
    assert set(bench.rows(APC_COORDINATION_TABLE)) == {"s%2F0", "s%2F1"}


def test_swarms_are_sorted_from_the_first() -> None:
    bench = Bench()
    named = [{"agent_id": f"a{n}", "swarm_id": f"sw-{n}"} for n in (7, 3, 9, 1, 5)]
    bench.give(packet("IDEA", 1, recipients=named))
    assert session_row(bench)["swarms"] == ["sw-1", "sw-3", "sw-5", "sw-7", "sw-9", "sw-a"]
