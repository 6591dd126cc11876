"""One record for each thing that can be wrong with a packet on the log, and what it is owed."""

from __future__ import annotations

import copy
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import schemas
from schemas import CATALOGUE, encode, from_json
from schemas.apc import rules
from schemas.rules import Rule, Stage, Where
from streams.engine.records import Output
from tests.e2e.outputs import PARTITIONS, Json, Outputs
from tests.unit.protocols.apc.processor.packets import ack, packet, pid, retraction, waiting
from topology.apc import APC_PACKETS
from topology.keys import partition_of

PACKET = "headrace.apc.ApcPacket"
EXAMPLES = Path(schemas.__file__).parent / "examples" / "apc" / "invalid"
SESSION = "bad input"


def expected_rules() -> set[str]:
    """Every rule that decides a record on the log."""
    decided = {
        rule
        for rule in rules.ALL
        if rule.stage in (Stage.SCHEMA, Stage.LOG, Stage.POLICY) and rule.where is not Where.EDGE
    }
    return {rule.code for rule in decided - CARRIED_BY_NONE}


CARRIED_BY_NONE: set[Rule] = {rules.ENUM_VALUE}
"""Avro itself refuses to write these."""


class Case(NamedTuple):
    """rule: of the verdict, or the code of the dead letter.  row: whether the packet gets one."""

    name: str
    output: Output
    rule: str
    row: bool = True
    verdict: str = "rejected"
    dead: bool = False


def cases(made: Outputs) -> list[Case]:
    """In the order in which they are to be sent; a packet that others name comes first."""
    return [
        *_examples(made),
        *_as_service(made),
        *_misplaced(made),
        *_nameless(made),
        *_known(made),
        *_policies(made),
        *dead_letters(made),
    ]


def _packet(packet_type: str, number: int, **members: Any) -> Json:
    return packet(packet_type, number, session=SESSION, **members)


def _examples(made: Outputs) -> Iterator[Case]:
    """The invalid examples of the schemas, as far as Avro carries them; null members are absent."""
    for number, path in enumerate(sorted(EXAMPLES.glob("*.json")), 1000):
        example: Json = json.loads(path.read_text())
        wrong = copy.deepcopy(example.get("packet"))
        try:
            body = encode(PACKET, from_json(PACKET, wrong))
        except schemas.ShapeError:
            continue
        assert isinstance(wrong, dict)
        if example["rule"] == "member_type" or wrong["trace"]["session_id"] == "":
            continue
        if example["path"] != "/packet_id":
            wrong["packet_id"] = pid(number)
            body = encode(PACKET, from_json(PACKET, wrong))
        key = wrong["trace"]["session_id"].encode()
        output = Output(made.name(APC_PACKETS), key, body)
        yield Case(path.stem, output, example["rule"], row=example["path"] != "/packet_id")


def _as_service(made: Outputs) -> Iterator[Case]:
    """What only a producer with its own codec sends: Avro values that no JSON makes."""
    mismatch = from_json(PACKET, _packet("CLAIM", 1, run_phase="DISCOVERY"))
    mismatch["packet_type"] = "ACK"
    yield _avro(made, "payload of another type", mismatch, "payload_type_mismatch")
    for number, text in enumerate(("{broken", "[1]", '{"a":1,"a":2}', '{"a":NaN}'), 2):
        value = from_json(PACKET, _packet("IDEA", number))
        value["metadata_json"] = text
        yield _avro(made, f"metadata is {text}", value, "json_text")
    for number, wrong in enumerate(("NaN", "Infinity", "-Infinity"), 6):
        value = from_json(PACKET, _packet("IDEA", number, confidence=wrong))
        yield _avro(made, f"confidence is {wrong}", value, "number_range")
    deep = _packet("IDEA", 9, metadata={"x": json.loads("[" * 63 + "]" * 63)})
    yield Case("nested 65 deep", made.packet(deep), "packet_too_large")
    large = _packet("IDEA", 10, metadata={"x": "é" * 270_000})
    yield Case("over the bound", made.packet(large), "packet_too_large")


def too_large(made: Outputs) -> Output:
    """A packet that fits its topic, while the fact about it, which names its member twice in
    full and once more escaped, fits none.  Only where packets may have 1 MB.
    """
    huge = _packet("IDEA", 11)
    huge["trace"]["vector_clock"] = {"/" * 1_000_000: -1}
    return made.packet(huge)


def _avro(made: Outputs, name: str, value: Json, rule: str) -> Case:
    key = value["trace"]["session_id"].encode()
    return Case(name, Output(made.name(APC_PACKETS), key, encode(PACKET, value)), rule)


def _misplaced(made: Outputs) -> Iterator[Case]:
    good = _packet("IDEA", 20)
    home = partition_of(SESSION.encode(), PARTITIONS)
    for key in (None, b"", b"another", b"\xff\xfe", SESSION.upper().encode()):
        output = made.packet(good, key=key, partition=home)
        yield Case(f"key {key!r}", output, "key_mismatch", row=False)
    for step in range(1, PARTITIONS):
        output = made.packet(good, partition=(home + step) % PARTITIONS)
        yield Case(f"{step} partitions off", output, "partition_mismatch", row=False)
    # None of these took its id.
    yield Case("in its place at last", made.packet(good), "accepted", verdict="accepted")


def _nameless(made: Outputs) -> Iterator[Case]:
    no_session = packet("IDEA", 21, session="")
    yield Case("no session", made.packet(no_session), "string_empty", row=False)
    for wrong in ("", "7", pid(22) + "0", pid(22).replace("-", "")):
        output = made.packet(_packet("IDEA", 22, packet_id=wrong))
        yield Case(f"packet_id {wrong!r}", output, "format_uuid", row=False)


def _known(made: Outputs) -> Iterator[Case]:
    first = _packet("IDEA", 30, to=("a",))
    yield Case("the first", made.packet(first), "accepted", verdict="accepted")
    again = {**first, "created_at": "2026-03-03T00:00:00+01:00"}
    yield Case("again", made.packet(again), "duplicate", row=False, verdict="duplicate")
    upper = {**first, "packet_id": pid(30).upper()}
    yield Case("in upper case", made.packet(upper), "duplicate", row=False, verdict="duplicate")
    other = {**first, "confidence": 0.1}
    yield Case("another of its id", made.packet(other), "packet_conflict", row=False)
    conflicting = {**first, "confidence": 7}
    yield Case("a broken one of its id", made.packet(conflicting), "packet_conflict", row=False)


def _policies(made: Outputs) -> Iterator[Case]:
    def case(name: str, value: Json, rule: str, **more: Any) -> Case:
        return Case(name, made.packet(value), rule, **more)

    known = _packet("IDEA", 40, sender="owner", swarm="sw-o", to=("a",))
    waits = waiting(41, to=("a", "b"), ttl_ms=3_600_000, session=SESSION)
    yield case("to be named", known, "accepted", verdict="accepted")
    yield case("to be answered", waits, "accepted", verdict="accepted")
    yield case("phase", _packet("IDEA", 42, run_phase="VALIDATION"), "phase_type")
    failed = {"anti_drift": {"ci_verifiable": False}}
    yield case("drift", _packet("IDEA", 43, metadata=failed), "drift_check_failed")
    unproved = _packet("CLAIM", 90, run_phase="VALIDATION", proof_bundle={"evidence_refs": [""]})
    yield case("proof", unproved, "proof_empty")
    unknown = retraction(44, 999, session=SESSION)
    yield case("retracts none", unknown, "retraction_target_unknown")
    itself = retraction(45, 45, session=SESSION)
    yield case("retracts itself", itself, "retraction_target_unknown")
    foreign = retraction(46, 40, session=SESSION, sender="thief", swarm="sw-t")
    yield case("retracts another's", foreign, "retraction_not_owner")
    own_retraction = retraction(47, 40, session=SESSION, sender="owner", swarm="sw-t")
    yield case("retracts its own", own_retraction, "accepted", verdict="accepted")
    twice = retraction(48, 40, session=SESSION, sender="other", swarm="sw-o")
    yield case("retracts it again", twice, "already_retracted", row=False, verdict="duplicate")
    deeper = retraction(49, 47, session=SESSION, sender="owner")
    yield case("retracts a retraction", deeper, "retraction_of_retraction")
    yield case("answers none", ack(50, 999, "a", session=SESSION), "ack_target_unknown")
    yield case("answers itself", ack(51, 51, "a", session=SESSION), "ack_target_unknown")
    stranger = ack(52, 41, "stranger", session=SESSION)
    yield case("answers for nobody", stranger, "ack_not_recipient")
    stranger = ack(53, 41, "stranger", nack=True, session=SESSION)
    yield case("refuses for nobody", stranger, "ack_not_recipient")


def dead_letters(made: Outputs) -> list[Case]:
    """Bytes that nobody can read as a packet."""
    frame = b"\0" + struct.pack(">I", CATALOGUE.id_of(PACKET))
    body = encode(PACKET, from_json(PACKET, _packet("IDEA", 60)))
    single = b"\xc3\x01" + bytes(8)
    wrong: list[tuple[bytes | None, str]] = [
        (None, "null_value"),
        (b"", "frame_unknown"),
        (b"\0\0", "frame_unknown"),
        (b'{"packet_type":"IDEA"}', "frame_unknown"),
        (b"\1" + body[1:], "frame_unknown"),
        (b"\0\0\0\0\7" + body[5:], "schema_unknown"),
        (single + body[5:], "schema_unknown"),
        (encode("headrace.core.TimerRow", {"data": {}}), "record_mismatch"),
        (frame, "body_invalid"),
        (body[:-1], "body_invalid"),
        (body + b"\0", "body_invalid"),
        (frame + b"\xff" * 200, "body_invalid"),
        (body.replace(b"apc/1.0", b"apc\xff1.0"), "body_invalid"),
    ]
    return [
        Case(f"{code} {n}", made.raw(SESSION.encode(), value), code, row=False, dead=True)
        for n, (value, code) in enumerate(wrong)
    ]
