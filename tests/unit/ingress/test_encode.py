from __future__ import annotations

from typing import Any

import pytest

from schemas import decode, to_json
from streams.engine.records import Output
from streams.errors import InvalidInput, OutputTooLarge, UsageError
from streams.ingress.edges import ingress_topic_of
from streams.processing.encode import encode_value, to_output
from streams.processing.key_blocks import Blocks
from streams.settings import Settings
from tests.unit.envelopes import idea, transition
from tests.unit.schemas import examples
from topology.apc import APC_PACKETS
from topology.core import RTES_RAW

NOW = 1_767_225_600_123
SETTINGS = Settings()


def produced(topic: str, value: Any, settings: Settings = SETTINGS) -> Output:
    return to_output(ingress_topic_of(topic), value, NOW, settings)


def json_of(output: Output, record: str) -> dict[str, Any]:
    return to_json(record, decode(output.value, record).value)


def refused(topic: str, value: Any, settings: Settings = SETTINGS) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as caught:
        produced(topic, value, settings)
    return [(problem.rule, problem.path) for problem in caught.value.problems]


def test_a_packet_gets_its_session_as_key() -> None:
    output = produced("apc.packets", idea())
    assert (output.topic, output.key, output.partition) == ("apc.packets", b"s1", None)
    assert json_of(output, "headrace.apc.ApcPacket") == idea()


def test_created_at_is_filled_with_the_edges_clock() -> None:
    output = produced("apc.packets", idea(created_at=...))
    packet = json_of(output, "headrace.apc.ApcPacket")
    assert packet["created_at"] == "2026-01-01T00:00:00.123Z"


def test_a_created_at_of_null_is_not_filled() -> None:
    assert refused("apc.packets", idea(created_at=None)) == [("member_type", "/created_at")]


def test_the_prefix_is_put_before_the_topic() -> None:
    assert produced("apc.packets", idea(), Settings(prefix="acme.")).topic == "acme.apc.packets"


def test_broken_rules_are_named_with_their_paths() -> None:
    packet = idea(confidence=2, extra=1, payload__intent=...)
    assert refused("apc.packets", packet) == [
        ("number_range", "/confidence"),
        ("member_unknown", "/extra"),
        ("member_missing", "/payload/intent"),
    ]


@pytest.mark.parametrize("value", [None, 3, "text", [], [1]])
def test_a_packet_that_is_no_object_is_refused(value: object) -> None:
    assert [rule for rule, _ in refused("apc.packets", value)] == ["json_invalid"]


def test_at_most_ten_problems_of_a_packet_are_reported() -> None:
    packet = idea() | {f"extra-{n:02d}": 1 for n in range(12)}
    assert len(refused("apc.packets", packet)) == 10


def test_the_largest_packet_is_a_setting() -> None:
    assert refused("apc.packets", idea(), Settings(apc_max_packet_bytes=500)) == [
        ("packet_too_large", "")
    ]


def test_the_largest_record_is_a_setting() -> None:
    pulse = {"type": "SANDBOX_PULSE", "line": "t" * 2000, "masked": False}
    event = transition() | {"payload": {**pulse, "timestamp": "2026-01-01T00:00:00Z"}}
    with pytest.raises(OutputTooLarge):
        produced("rtes.raw", event, Settings(max_record_bytes=1024))


def test_unknown_keys_and_the_origin_of_an_event_are_dropped_and_counted() -> None:
    event = transition(extra=1) | {"origin": "apc"}
    output = produced("rtes.raw", event)
    assert dict(output.headers) == {"headrace-dropped-keys": b"2"}
    assert json_of(output, "headrace.rtes.RtesEvent") == transition()


def test_an_event_without_unknown_keys_has_no_header() -> None:
    assert produced("rtes.raw", transition()).headers == []


def test_an_event_with_a_broken_rule_is_refused() -> None:
    assert refused("rtes.raw", transition() | {"event_id": "x"}) == [
        ("event_id_invalid", "/event_id")
    ]


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "SANDBOX_PULSE", "line": "password=hunter2", "masked": False},
        {
            "type": "TOOL_LIFECYCLE_INVOKED",
            "call_id": "c1",
            "tool": "curl",
            "arguments": {"password": "hunter2"},
        },
    ],
)
def test_text_that_is_not_masked_never_reaches_the_log(payload: dict[str, Any]) -> None:
    event = transition() | {"payload": payload | {"timestamp": "2026-02-19T07:50:00Z"}}
    value = produced("rtes.raw", event).value
    assert value is not None
    assert b"hunter2" not in value


PULSE = {"type": "SANDBOX_PULSE", "masked": False, "timestamp": "2026-02-19T07:50:00Z"}
KEY = ["-----BEGIN PRIVATE KEY-----", "Zm9vYmFyYmF6cXV4", "-----END PRIVATE KEY-----"]


def lines(blocks: Blocks | None, raw_lines: list[str], session: str = "s1") -> list[str]:
    """The given lines of a session as one producer would put them on the log."""
    masked_lines = []
    for line in raw_lines:
        event = transition() | {"session_id": session, "payload": PULSE | {"line": line}}
        output = to_output(ingress_topic_of("rtes.raw"), event, NOW, SETTINGS, blocks)
        payload = json_of(output, "headrace.rtes.RtesEvent")["payload"]
        assert payload["masked"] is (payload["line"] != line)
        masked_lines.append(payload["line"])
    return masked_lines


def test_a_producer_masks_a_private_key_over_several_values() -> None:
    blocks = Blocks()
    begin, body, end = (f"[REDACTED:pem_{part}]" for part in ("open", "private_key", "close"))
    assert lines(blocks, KEY[:2]) == [begin, body]
    assert lines(blocks, ["Zm9vYmFyYmF6cXV4"], "s2") == ["Zm9vYmFyYmF6cXV4"]
    assert lines(blocks, KEY[1:]) == [body, end]
    assert lines(blocks, KEY[1:2]) == KEY[1:2]


def test_without_a_producer_every_value_stands_alone() -> None:
    assert lines(None, KEY)[1] == KEY[1]


def test_arguments_are_left_alone_if_the_settings_say_so() -> None:
    payload: dict[str, Any] = {"type": "TOOL_LIFECYCLE_INVOKED", "call_id": "c1", "tool": "curl"}
    payload |= {"arguments": {"password": "hunter2"}, "timestamp": PULSE["timestamp"]}
    event = transition() | {"payload": payload}
    output = produced("rtes.raw", event, Settings(rtes_mask_arguments=False))
    assert json_of(output, "headrace.rtes.RtesEvent")["payload"] == payload


def test_turns_are_sent_as_they_are_without_unknown_keys() -> None:
    turn = examples.valid("saop")["turn"]
    turn["content"]["thought"] = "password=hunter2"
    output = produced("saop.turns", {**turn, "mood": 1})
    assert (output.key, dict(output.headers)) == (b"paint-7", {"headrace-dropped-keys": b"1"})
    assert json_of(output, "headrace.saop.SaopTurn") == turn


def test_rewinds_are_sent_under_their_session() -> None:
    command = examples.valid("saop/rewinds")["prepare"]
    output = produced("saop.rewinds", command)
    assert (output.topic, output.key) == ("saop.rewinds", b"s-9")
    assert refused("saop.rewinds", {**command, "task_id": "A"}) == [("schema_invalid", "/git_hash")]


@pytest.mark.parametrize("topic", ["saop.turns", "saop.rewinds", "saop.controls"])
def test_a_bad_turn_or_command_is_refused_by_its_rule(topic: str) -> None:
    folder = "saop" if topic == "saop.turns" else topic.replace(".", "/")
    for case in examples.invalid(folder).values():
        value = case[examples.CASES[folder]]
        assert refused(topic, value) == [(case["rule"], case["path"])]


def test_as_the_service_only_avro_has_to_approve() -> None:
    output = encode_value(APC_PACKETS, idea(confidence=2), SETTINGS)
    assert json_of(output, "headrace.apc.ApcPacket")["confidence"] == 2


def test_as_the_service_the_origin_stays() -> None:
    output = encode_value(RTES_RAW, transition() | {"origin": "apc"}, SETTINGS)
    assert json_of(output, "headrace.rtes.RtesEvent")["origin"] == "apc"


@pytest.mark.parametrize("changes", [{"sender": ...}, {"confidence": "high"}, {"packet_type": "X"}])
def test_what_avro_cannot_carry_is_refused_as_the_service_too(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        encode_value(APC_PACKETS, idea(**changes), SETTINGS)


@pytest.mark.parametrize("topic", ["apc.events", "apc.packets.dlq", "nonsense"])
def test_topics_of_the_service_are_not_for_users(topic: str) -> None:
    with pytest.raises(UsageError, match=topic):
        ingress_topic_of(topic)


@pytest.mark.parametrize(
    ("topic", "value", "expected"),
    [
        ("rtes.raw", transition() | {"session_id": "\udc00"}, ("text_invalid", "/session_id")),
        ("saop.turns", {"turn_index": -1, "agent_id": "\ud800"}, ("turn_index_invalid", "")),
        ("apc.packets", idea() | {"x": ["\ud800"]}, ("json_invalid", "")),
        ("apc.packets", idea() | {"\ud800": 2**70}, ("json_invalid", "")),
    ],
)
def test_a_lone_surrogate_breaks_the_envelopes_own_rule_or_is_no_json(
    topic: str, value: Any, expected: tuple[str, str]
) -> None:
    rule, path = refused(topic, value)[0]
    assert (rule, path if expected[1] else "") == expected


def test_a_lone_surrogate_in_what_is_dropped_is_no_problem() -> None:
    output = produced("rtes.raw", transition() | {"more": "\ud800"})
    assert output.headers == [("headrace-dropped-keys", b"1")]
