"""The protocol's own example packet, sent as it is printed, from verdict to archive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import schemas
from tests.e2e.environment import Environment
from topology.apc import APC_INBOX
from topology.saop import RTES_EVENTS

pytestmark = pytest.mark.slow

Json = dict[str, Any]

IDEA = Path(schemas.__file__).parent / "examples" / "apc" / "idea.json"
ROUTED = ["init", "emit", "schema_pass", "policy_pass", "route_selected"]
ARCHIVED = [
    *ROUTED,
    "delivery_ack",
    "consumer_apply",
    "verification_pass",
    "non_promotable_complete",
]


def answer_to(idea: Json) -> Json:
    """The ACK that its recipient's script sends."""
    packet_id = "5f0e1a77-3f62-4bd6-a3f5-2a0f6f0a9c11"
    return {
        **{name: idea[name] for name in ("protocol_version", "channel", "run_phase")},
        "packet_id": packet_id,
        "packet_type": "ACK",
        "sender": {"agent_id": "sentinel-1", "role": "sentinel", "swarm_id": "swarm-hybrid"},
        "recipients": [{"agent_id": idea["sender"]["agent_id"]}],
        "trace": {
            **idea["trace"],
            "root_packet_id": idea["packet_id"],
            "parent_packet_id": idea["packet_id"],
        },
        "routing": {**idea["routing"], "requires_ack": False},
        "confidence": 1,
        "symbolic_keys": [],
        "payload": {"acked_packet_id": idea["packet_id"], "ack_status": "ACCEPTED"},
    }


def test_the_seeds_idea_waits_for_its_answer_and_is_archived(shared: Environment) -> None:
    idea = json.loads(IDEA.read_text())
    session, packet_id = idea["trace"]["session_id"], idea["packet_id"]
    position = shared.headrace("send", "apc.packets", stdin=IDEA.read_text()).strip()
    path = f"/v1/apc/sessions/{session}/packets/{packet_id}"
    row = shared.query("query", path, "--after", position)
    assert (row["state"], row["position"], row["rule"]) == ("ROUTED", position, "accepted")
    ((kind, fact),) = shared.await_answers([position])
    assert (kind, fact["verdict"], fact["state"]) == ("fact", "accepted", "ROUTED")
    assert fact["packet"] == idea
    assert [t["event"] for t in fact["transitions"]] == ROUTED

    (delivery,) = shared.values(APC_INBOX)
    assert delivery["delivery_id"] == f"{packet_id}/sentinel-1/1"
    assert (delivery["recipient_agent_id"], delivery["kind"]) == ("sentinel-1", "packet")
    assert delivery["packet"] == idea
    (inbox,) = shared.records(APC_INBOX)
    assert inbox.key == b"sentinel-1"

    answer_json = json.dumps(answer_to(idea))
    answer_position = shared.headrace("send", "apc.packets", stdin=answer_json).strip()
    trace = shared.query("packet-trace", "--session-id", session, "--after", answer_position)
    lives = {p["packet_id"]: p for p in trace["packets"]}
    assert lives[packet_id]["lifecycle_state"] == "ARCHIVED"
    newest_first = [e["event"] for e in trace["events"] if e["packet_id"] == packet_id]
    assert newest_first[::-1] == ARCHIVED
    assert shared.query("query", path)["acks"]["accepted"] == ["sentinel-1"]

    shared.drain()
    (opened,) = shared.values(RTES_EVENTS)
    payload = opened["payload"]
    assert (payload["from_state"], payload["to_state"]) == ("none", "SESSION_OPEN")
    assert (opened["session_id"], payload["task_id"], opened["origin"]) == (session, session, "apc")
    assert opened["sequence"] == 1
