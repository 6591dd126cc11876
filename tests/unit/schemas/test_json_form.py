from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import (
    CATALOGUE,
    ShapeError,
    canonical_json,
    decode,
    encode,
    from_json,
    parse_ijson,
    to_json,
)
from schemas.json_mapping.json_form import open_json
from schemas.summit.mapping import PARAMS
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import PACKETS, values

PACKET = "headrace.apc.ApcPacket"
EVENT = "headrace.rtes.RtesEvent"
METHODS = {record: method for method, record in PARAMS.items()}


@given(PACKETS)
def test_packets_of_every_type_go_from_avro_to_json_and_back(packet: dict[str, Any]) -> None:
    as_json = to_json(PACKET, packet)
    again = parse_ijson(canonical_json(as_json))
    read = from_json(PACKET, again)
    assert to_json(PACKET, decode(encode(PACKET, read), PACKET).value) == as_json


@pytest.mark.parametrize("record", [r for r in CATALOGUE.records() if r != PACKET])
def test_other_records_go_from_avro_to_json_and_back(record: str) -> None:
    @given(values(record))
    def check(value: dict[str, Any]) -> None:
        _match_packet(value)
        as_json = to_json(record, value)
        json.dumps(as_json)
        assert to_json(record, from_json(record, as_json)) == as_json

    check()


def _match_packet(value: dict[str, Any]) -> None:
    """A packet inside, if there is one, gets a type that its payload's branch stands for.

    A call gets the method that its params' branch stands for.
    """
    if "params" in value:
        value["method"] = METHODS[value["params"][0]]
    packet = value.get("packet")
    if packet is not None:
        value["packet"] = from_json(PACKET, examples.valid("apc")["task_ir"])


@pytest.mark.parametrize(
    ("protocol", "name"),
    [(protocol, name) for protocol in examples.RECORDS for name in examples.valid(protocol)],
)
def test_examples_survive_the_round_trip(protocol: str, name: str) -> None:
    record, value = examples.RECORDS[protocol], examples.valid(protocol)[name]
    sent = {member: item for member, item in value.items() if item is not None}
    assert to_json(record, decode(encode(record, from_json(record, value)), record).value) == sent


def test_absent_members_of_protocol_objects_are_left_out_and_nulls_of_facts_are_shown() -> None:
    delivery = {
        "delivery_id": "d",
        "kind": "packet",
        "recipient_agent_id": "a",
        "attempt": 1,
        "packet": from_json(PACKET, examples.valid("apc")["idea"]),
        "position": "apc.packets/0/1",
        "at": 0,
        "deadline_at": 1_777_881_600_123,
        "ack_due_at": None,
    }
    as_json = to_json("headrace.apc.ApcDelivery", delivery)
    assert as_json["ack_due_at"] is None
    assert as_json["deadline_at"] == "2026-05-04T08:00:00.123Z"
    assert as_json["packet"] == examples.valid("apc")["idea"]


def test_numbers_are_shown_as_json_has_them() -> None:
    packet = from_json(PACKET, examples.valid("apc")["transfer"])
    name, payload = packet["payload"]
    for given_number, expected in (
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (math.nan, '"NaN"'),
        (math.inf, '"Infinity"'),
        (-math.inf, '"-Infinity"'),
        (2.0**60, str(2.0**60)),
    ):
        packet["payload"] = (name, {**payload, "sender_score": given_number})
        assert json.dumps(to_json(PACKET, packet)["payload"]["sender_score"]) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"b":1,"a":[null]}', {"b": 1, "a": [None]}),
        ("[1.0]", [1.0]),
        ('{"a":1,"a":2}', '{"a":1,"a":2}'),
        ("{", "{"),
        ("1e400", "1e400"),
        ("", ""),
        ('{"a":' * 2000 + "1" + "}" * 2000, '{"a":' * 2000 + "1" + "}" * 2000),
    ],
)
def test_open_json_is_parsed_where_it_is_ijson(text: str, value: Any) -> None:
    assert open_json(text) == value


@given(st.text())
def test_any_text_has_an_open_form_that_can_be_hashed(text: str) -> None:
    canonical_json(open_json(text))


TRANSITION = {
    "seq": 0,
    "event": "init",
    "from_state": None,
    "to_state": "DRAFT",
    "at": None,
    "cause": None,
    "metadata_json": '{"reason":"x"}',
}


@given(values("headrace.apc.ApcEvent"))
def test_transitions_take_time_and_cause_from_their_fact(event: dict[str, Any]) -> None:
    event |= {"at": 5, "cause": "t/0/1", "transitions": [dict(TRANSITION)]}
    (transition,) = to_json("headrace.apc.ApcEvent", event)["transitions"]
    assert (transition["at"], transition["cause"]) == ("1970-01-01T00:00:00.005Z", "t/0/1")
    assert transition["metadata"] == {"reason": "x"}
    assert transition["from_state"] is None


@given(values("headrace.apc.ApcPacketState"))
def test_transitions_take_time_and_cause_from_their_row(row: dict[str, Any]) -> None:
    second = {**TRANSITION, "at": 9, "cause": "t/0/2"}
    row |= {"logged_at": 5, "position": "t/0/1", "history": [dict(TRANSITION), second]}
    history = to_json("headrace.apc.ApcPacketState", row)["history"]
    assert [t["cause"] for t in history] == ["t/0/1", "t/0/2"]


PATHS = [
    (PACKET, ("sender",), 5, "member_type", "/sender"),
    (PACKET, ("sender", "agent_id"), None, "member_type", "/sender/agent_id"),
    (PACKET, ("sender", "x/y~"), 1, "member_unknown", "/sender/x~1y~0"),
    (PACKET, ("packet_type",), "GOSSIP", "enum_value", "/packet_type"),
    (PACKET, ("channel",), "x", "enum_value", "/channel"),
    (PACKET, ("channel",), 1, "member_type", "/channel"),
    (PACKET, ("routing", "priority"), 2**31, "number_range", "/routing/priority"),
    (PACKET, ("routing", "priority"), 5.5, "member_type", "/routing/priority"),
    (PACKET, ("routing", "requires_ack"), 1, "member_type", "/routing/requires_ack"),
    (PACKET, ("confidence",), True, "member_type", "/confidence"),
    (PACKET, ("recipients",), {}, "member_type", "/recipients"),
    (PACKET, ("symbolic_keys",), ["\ud800"], "json_invalid", "/symbolic_keys/0"),
    (PACKET, ("metadata",), {"a": math.nan}, "json_invalid", "/metadata"),
    (PACKET, ("trace", "vector_clock"), [], "member_type", "/trace/vector_clock"),
    (EVENT, ("payload",), [], "schema_invalid", "/payload"),
    (EVENT, ("payload", "type"), "RUMOUR", "event_type_unknown", "/payload/type"),
    (EVENT, ("session_id",), "\ud800", "text_invalid", "/session_id"),
    (EVENT, ("extra",), 1, "schema_invalid", "/extra"),
]


@pytest.mark.parametrize(("record", "place", "member", "rule", "path"), PATHS)
def test_what_avro_cannot_carry_is_named_by_rule_and_path(
    record: str, place: tuple[str, ...], member: Any, rule: str, path: str
) -> None:
    value = examples.valid("apc")["idea"]
    if record == EVENT:
        value = examples.valid("rtes")["task_transition"]
    owner = value
    for name in place[:-1]:
        owner = owner[name]
    owner[place[-1]] = member
    with pytest.raises(ShapeError) as caught:
        from_json(record, value)
    assert (caught.value.rule, caught.value.path) == (rule, path)


def test_missing_members_are_named() -> None:
    for record, value, path in (
        (PACKET, {}, "/protocol_version"),
        (EVENT, {"event_id": "x", "session_id": "s", "payload": {}}, "/payload/type"),
    ):
        with pytest.raises(ShapeError) as caught:
            from_json(record, value)
        assert caught.value.path == path


def test_integral_floats_become_integers_and_integers_doubles() -> None:
    value = examples.valid("apc")["idea"]
    value["routing"]["ttl_ms"] = 2.0
    value["confidence"] = 1
    read = from_json(PACKET, value)
    assert json.dumps([read["routing"]["ttl_ms"], read["confidence"]]) == "[2, 1.0]"
    value["confidence"] = 10**400
    assert from_json(PACKET, value)["confidence"] == math.inf


def test_open_objects_become_canonical_text_and_text_stays_itself() -> None:
    value = examples.valid("apc")["idea"]
    value["metadata"] = {"b": 1.0, "a": None}
    assert from_json(PACKET, value)["metadata_json"] == '{"a":null,"b":1}'
    value["metadata"] = "{"
    assert from_json(PACKET, value)["metadata_json"] == "{"
