from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import (
    KINDS,
    Problem,
    ShapeError,
    apc,
    canonical_json,
    decode,
    encode,
    from_json,
    parse_ijson,
    validate,
)
from schemas.apc import rules
from schemas.rules import Stage, Where
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import JSON, PACKETS, values

PACKET = "headrace.apc.ApcPacket"
VALID = examples.valid("apc")
CODES = {
    where: {r.code for r in rules.ALL if r.stage is Stage.SCHEMA and r.where in (where, Where.BOTH)}
    for where in (Where.EDGE, Where.PROCESSOR)
}

PRIOR = {"use_case": "u", "strategy": "m-1", "alpha": "2.25", "beta": "1.75", "version": 2}
"""What a packet may say of the prior that it was chosen by (APC guide, 2.7)."""


def problems_of(packet: object, **options: Any) -> list[tuple[str, str]]:
    return [(problem.rule, problem.path) for problem in apc.validate(packet, **options)]


def changed(name: str, **members: Any) -> dict[str, Any]:
    """An example with members put in, `a__b` meaning member b of a; `...` takes one out."""
    packet = copy.deepcopy(VALID[name])
    for path, member in members.items():
        owner: Any = packet
        *place, last = path.split("__")
        for step in place:
            owner = owner[int(step)] if isinstance(owner, list) else owner[step]
        if member is ...:
            del owner[last]
        else:
            owner[last] = member
    return packet


@pytest.mark.parametrize("name", VALID)
def test_valid_examples_are_valid_at_the_edge_and_as_avro(name: str) -> None:
    assert validate("apc.packet", VALID[name]) == []
    value = decode(encode(PACKET, from_json(PACKET, VALID[name])), PACKET).value
    assert apc.validate_avro(value, apc.packet_json(value)) == []


@pytest.mark.parametrize("name", examples.invalid("apc"))
def test_each_invalid_example_breaks_its_rule_at_its_path(name: str) -> None:
    case = examples.invalid("apc")[name]
    if "text" in case:
        with pytest.raises(ShapeError) as caught:
            parse_ijson(case["text"])
        assert (caught.value.rule, caught.value.path) == (case["rule"], case["path"])
    else:
        assert problems_of(case["packet"]) == [(case["rule"], case["path"])]


def test_every_edge_rule_of_the_shape_has_an_invalid_example() -> None:
    example_rules = {case["rule"] for case in examples.invalid("apc").values()}
    assert CODES[Where.EDGE] == example_rules


CARRIED = sorted(
    name
    for name, case in examples.invalid("apc").items()
    if case["rule"] in CODES[Where.PROCESSOR] and not case["rule"].startswith("enum_value")
)


@pytest.mark.parametrize("name", [n for n in CARRIED if n != "number_range_large"])
def test_what_avro_carries_breaks_the_same_rule_in_the_processor(name: str) -> None:
    case = examples.invalid("apc")[name]
    value = from_json(PACKET, case["packet"])
    problems = apc.validate_avro(value, apc.packet_json(value))
    assert [(p.rule, p.path) for p in problems] == [(case["rule"], case["path"])]


@pytest.mark.parametrize("value", [None, [], "x", 5, [{}]])
def test_what_is_no_object_is_json_invalid(value: object) -> None:
    assert problems_of(value) == [("json_invalid", "")]


def test_all_errors_are_collected_and_sorted_by_path_then_rule() -> None:
    packet = changed(
        "transfer",
        lineage=...,
        confidence=2,
        symbolic_keys=["", "a", "a"],
        payload__to_swarm=5,
        created_at="x",
        extra=1,
    )
    assert problems_of(packet) == [
        ("number_range", "/confidence"),
        ("format_time", "/created_at"),
        ("member_unknown", "/extra"),
        ("lineage_missing", "/lineage"),
        ("member_type", "/payload/to_swarm"),
        ("string_empty", "/symbolic_keys/0"),
        ("array_not_unique", "/symbolic_keys/2"),
    ]


def test_an_empty_object_misses_every_required_member() -> None:
    assert {rule for rule, _ in problems_of({})} == {"member_missing"}
    assert "/packet_type" in {path for _, path in problems_of({})}


def test_an_unknown_type_leaves_the_payload_unread_and_the_rest_judged() -> None:
    packet = changed("idea", packet_type="GOSSIP", confidence="x", payload__nothing=None)
    assert problems_of(packet) == [("member_type", "/confidence"), ("enum_value", "/packet_type")]
    assert ("member_type", "/payload") in problems_of(changed("idea", packet_type=1, payload=[]))


@pytest.mark.parametrize(
    ("change", "rule", "path"),
    [
        ({"sender": None}, "member_type", "/sender"),
        ({"sender__role": ...}, "member_missing", "/sender/role"),
        ({"sender__capabilities": ["a", 1]}, "member_type", "/sender/capabilities/1"),
        ({"recipients": "x"}, "member_type", "/recipients"),
        ({"expires_at": None}, "member_type", "/expires_at"),
        ({"confidence": "0.5"}, "member_type", "/confidence"),
        ({"confidence": True}, "member_type", "/confidence"),
        ({"confidence": 10**400}, "number_range", "/confidence"),
        ({"confidence": math.inf}, "number_range", "/confidence"),
        ({"confidence": -0.001}, "number_range", "/confidence"),
        ({"routing__requires_ack": 1}, "member_type", "/routing/requires_ack"),
        ({"routing__ttl_ms": 10**400}, "number_range", "/routing/ttl_ms"),
        ({"routing__ttl_ms": 86_400_001}, "number_range", "/routing/ttl_ms"),
        ({"routing__ttl_ms": True}, "member_type", "/routing/ttl_ms"),
        ({"routing__retry_limit": 11}, "number_range", "/routing/retry_limit"),
        ({"trace__step": 2**53}, "number_range", "/trace/step"),
        ({"trace__vector_clock": {"a/b": -1}}, "number_range", "/trace/vector_clock/a~1b"),
        ({"trace__vector_clock": {"a": None}}, "member_type", "/trace/vector_clock/a"),
        ({"symbolic_keys": [str(i) for i in range(33)]}, "array_size", "/symbolic_keys"),
        ({"channel": ["INTER_AGENT"]}, "member_type", "/channel"),
        ({"protocol_version": 1}, "member_type", "/protocol_version"),
        ({"payload": []}, "member_type", "/payload"),
        ({"payload__failure_modes": [{"id": "x"}]}, None, None),
        ({"payload__expected_impact__cost_change": 1.5}, "number_range", None),
        ({"lineage": {"protocol_id": ""}}, "string_empty", "/lineage/protocol_id"),
        ({"lineage": {"protocol_id": "p" * 257}}, "packet_too_large", "/lineage/protocol_id"),
        ({"trace__session_id": "s" * 257}, "packet_too_large", "/trace/session_id"),
        ({"trace__run_id": "r" * 257}, "packet_too_large", "/trace/run_id"),
        ({"trace__task_id": "t" * 257}, "packet_too_large", "/trace/task_id"),
        ({"metadata": {"coordination_event": "e" * 257}}, "metadata_value", None),
        ({"metadata": []}, "member_type", "/metadata"),
        ({"metadata": {"a": math.inf}}, "json_invalid", "/metadata/a"),
        ({"metadata": {"verification": "later"}}, "metadata_value", "/metadata/verification"),
        ({"metadata": {"project_id": ""}}, "metadata_value", "/metadata/project_id"),
        ({"metadata": {"coordination_event": 1}}, "metadata_value", None),
        ({"metadata": {"attempt_number": -1}}, "metadata_value", "/metadata/attempt_number"),
        ({"metadata": {"attempt_number": 1.5}}, "metadata_value", "/metadata/attempt_number"),
        ({"metadata": {"attempt_number": True}}, "metadata_value", "/metadata/attempt_number"),
        ({"metadata": {"anti_drift": 1}}, "metadata_value", "/metadata/anti_drift"),
        (
            {"metadata": {"anti_drift": {"ci_verifiable": 1}}},
            "metadata_value",
            "/metadata/anti_drift/ci_verifiable",
        ),
        ({"metadata": {"anti_drift": {"x": True}}}, "metadata_value", "/metadata/anti_drift/x"),
        ({"metadata": {"use_case": ""}}, "metadata_value", "/metadata/use_case"),
        ({"metadata": {"use_case": "u" * 201}}, "metadata_value", "/metadata/use_case"),
        ({"metadata": {"use_case": None}}, "metadata_value", "/metadata/use_case"),
        ({"metadata": {"prior": "m-1"}}, "metadata_value", "/metadata/prior"),
        ({"metadata": {"prior": None}}, "metadata_value", "/metadata/prior"),
        *(
            (
                {"metadata": {"prior": {**PRIOR, name: form}}},
                "metadata_value",
                f"/metadata/prior/{name}",
            )
            for name, form in (
                *(("use_case", ""), ("use_case", 1), ("strategy", ""), ("strategy", None)),
                *(("alpha", 1), ("alpha", "0"), ("alpha", "1e3"), ("alpha", "-1"), ("beta", "")),
                *(("version", -1), ("version", 0.5), ("version", "1"), ("kind", "method")),
            )
        ),
        *(
            (
                {"metadata": {"prior": {k: v for k, v in PRIOR.items() if k != name}}},
                "metadata_value",
                f"/metadata/prior/{name}",
            )
            for name in PRIOR
        ),
    ],
)
def test_a_member_of_the_wrong_form(change: Any, rule: str | None, path: str | None) -> None:
    problems = problems_of(changed("idea", **change))
    if rule is None:
        assert problems == [
            ("member_missing", "/payload/failure_modes/0/description"),
            ("member_missing", "/payload/failure_modes/0/mitigation"),
        ]
        return
    assert [r for r, _ in problems] == [rule]
    assert path in (None, problems[0][1])


def test_null_is_a_value_in_open_members_only() -> None:
    assert problems_of(changed("idea", metadata={"free": None})) == []
    assert problems_of(changed("error", payload__details={"free": [None]})) == []
    assert problems_of(changed("error", payload__details=None)) == [
        ("member_type", "/payload/details")
    ]


def test_integers_may_be_spelled_with_a_fraction_of_zero() -> None:
    assert problems_of(changed("idea", routing__ttl_ms=2.0, trace__generation=4.0)) == []


def test_an_empty_proof_bundle_counts_as_present() -> None:
    assert problems_of(changed("claim", proof_bundle={})) == []
    assert problems_of(changed("claim", proof_bundle=None)) == [("member_type", "/proof_bundle")]


def test_an_ir_object_without_a_type_is_named() -> None:
    packet = changed("task_ir", payload__objects=[{"id": "x"}, 5])
    assert problems_of(packet) == [
        ("member_missing", "/payload/objects/0/type"),
        ("member_type", "/payload/objects/1"),
    ]
    assert problems_of(changed("task_ir", payload__objects__0__id=1)) == [
        ("member_type", "/payload/objects/0/id")
    ]
    assert problems_of(changed("task_ir", payload__objects=[])) == [
        ("array_size", "/payload/objects")
    ]


@pytest.mark.parametrize(
    ("bundle", "empty"),
    [
        ({"latex_full": "x"}, False),
        ({"sympy_str": "x"}, False),
        ({"ast_json": {"a": 1}}, False),
        ({"latex_compact": "x"}, True),
        ({"sympy_str": "", "ast_json": {}}, True),
    ],
)
def test_a_formula_bundle_has_something_in_it(bundle: dict[str, Any], empty: bool) -> None:
    expected = [("formula_empty", "/payload/formula_bundle")] if empty else []
    assert problems_of(changed("artifact", payload__formula_bundle=bundle)) == expected


def test_a_packet_at_the_bound_passes_and_one_byte_more_does_not() -> None:
    packet = changed("idea", metadata={"fill": ""})
    fill = apc.MAX_PACKET_BYTES - len(canonical_json(packet))
    packet["metadata"]["fill"] = "x" * fill
    assert problems_of(packet) == []
    packet["metadata"]["fill"] += "x"
    assert problems_of(packet) == [("packet_too_large", "")]
    assert problems_of(VALID["idea"], max_bytes=100) == [("packet_too_large", "")]


def test_the_copies_of_all_recipients_are_bounded_together() -> None:
    """A packet of 400 KB to 1,000 recipients was 408 MB on the log."""
    packet = copy.deepcopy(VALID["idea"])
    packet["metadata"] = {"fill": "x" * 400_000}
    packet["recipients"] = [{"agent_id": f"agent-{n}"} for n in range(100)] * 2
    assert problems_of(packet) == []
    packet["recipients"] = [{"agent_id": f"agent-{n}"} for n in range(1000)]
    assert problems_of(packet) == [("packet_too_large", "/recipients")]
    del packet["metadata"]
    assert problems_of(packet) == []
    size = len(canonical_json(packet))
    assert problems_of(packet, max_bytes=-(-size * 1000 // 128)) == []
    assert problems_of(packet, max_bytes=size * 1000 // 128 - 1)[-1][1] == "/recipients"


@pytest.mark.parametrize("levels", [63, 64, 200, 900])
def test_nesting_is_bounded_wherever_it_stands(levels: int) -> None:
    deep: Any = {}
    for _ in range(levels - 1):
        deep = {"d": deep}
    expected = [("packet_too_large", "")] if levels > 63 else []
    assert problems_of(changed("idea", metadata=deep)) == expected
    assert ("packet_too_large", "") in problems_of({"x": deep, "y": [deep]}) or levels == 63


@pytest.mark.parametrize("text", ["{", "[1]", '{"a":1,"a":2}', '"x"', '{"a":1e400}'])
def test_open_members_of_avro_hold_an_object_of_ijson(text: str) -> None:
    for name, member in (("idea", "metadata_json"), ("error", "details_json")):
        value = from_json(PACKET, VALID[name])
        owner = value if member == "metadata_json" else value["payload"][1]
        owner[member] = text
        path = "/metadata" if member == "metadata_json" else "/payload/details"
        packet = apc.packet_json(value)
        assert [(p.rule, p.path) for p in apc.validate_avro(value, packet)] == [("json_text", path)]
        assert len(apc.packet_hashes(packet)[0]) == 64


def test_a_payload_of_another_type_is_a_mismatch() -> None:
    value = from_json(PACKET, VALID["idea"])
    value["packet_type"] = "CLAIM"
    problems = apc.validate_avro(value, apc.packet_json(value))
    assert [(p.rule, p.path) for p in problems] == [
        ("payload_type_mismatch", "/payload"),
        ("proof_bundle_missing", "/proof_bundle"),
    ]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_doubles_that_are_not_finite_are_out_of_range(number: float) -> None:
    value = from_json(PACKET, VALID["transfer"])
    value["confidence"] = number
    problems = apc.validate_avro(value, apc.packet_json(value))
    assert [(p.rule, p.path) for p in problems] == [("number_range", "/confidence")]


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    return [place, *(deeper for key, item in inner for deeper in places(item, (*place, key)))]


@st.composite
def mutations(draw: st.DrawFn) -> Any:
    packet = copy.deepcopy(VALID[draw(st.sampled_from(sorted(VALID)))])
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(places(packet)))
        owner: Any = packet
        for step in place[:-1]:
            owner = owner[step]
        junk = draw(JSON | st.integers() | st.floats() | st.just("\ud800"))
        if not place:
            packet[draw(st.text())] = junk
        elif isinstance(owner, dict) and draw(st.booleans()):
            del owner[place[-1]]
        else:
            owner[place[-1]] = junk
    return packet


@given(mutations())
def test_any_packet_gets_known_rules_or_can_be_encoded(packet: Any) -> None:
    problems = apc.validate(packet)
    assert {problem.rule for problem in problems} <= CODES[Where.EDGE]
    assert problems == sorted(set(problems), key=lambda p: (p.path, p.rule))
    assert all(p.message.endswith(".") and len(p.message) < 400 for p in problems)
    if not problems:
        value = decode(encode(PACKET, from_json(PACKET, packet)), PACKET).value
        assert apc.validate_avro(value, apc.packet_json(value)) == []


@given(PACKETS | values(PACKET))
def test_any_avro_packet_gets_known_rules_and_hashes(value: dict[str, Any]) -> None:
    packet = apc.packet_json(value)
    problems: list[Problem] = apc.validate_avro(value, packet)
    assert {problem.rule for problem in problems} <= CODES[Where.PROCESSOR]
    assert apc.packet_hashes(packet)[0] != apc.packet_hashes(packet)[1]


@given(JSON)
def test_any_json_gets_an_answer(value: Any) -> None:
    for kind in KINDS:
        assert validate(kind, value)


def test_a_use_case_and_a_prior_of_their_form_break_no_rule() -> None:
    metadata = {"use_case": "u" * 200, "prior": PRIOR}
    assert problems_of(changed("idea", metadata=metadata)) == []
