"""Bytes of any kind as an entry, a note, a policy, a bundle, a path or a receipt, or an answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import count

from streams.errors import PolicyInvalid
from streams.ops.tlog.entries import parse_entry
from streams.ops.tlog.keys import KeyMalformed, parse_verifier_key
from streams.ops.tlog.note import Checkpoint, NoteMalformed, parse_note
from streams.ops.tlog.policy import parse_policy
from streams.ops.tlog.receipt import check_receipt, judge_note
from streams.ops.tlog.tiles import BundleMalformed, decode_bundle, encode_bundle, parse_path
from streams.ops.tlog.witness_client import (
    CosigningRequest,
    WitnessClient,
    WitnessOutcome,
    add_cosignatures,
)
from tests.unit.ops.tlog.example_log import CHECKPOINT, KEY, LINES, NOTE, POLICY, receipt
from tests.unit.ops.tlog.witness_double import (
    SIZE_TYPE,
    WitnessDouble,
    always,
    policy_of,
    respond,
    route,
)

KNOWN_POLICY = parse_policy(POLICY.encode())
WITNESS = WitnessDouble("w1")
WITNESSED = policy_of(WITNESS)
ANSWERS = ((200, "text/plain"), (409, SIZE_TYPE), (409, "text/plain"), (503, ""))


def entry(data: bytes) -> None:
    parsed = parse_entry(data)
    assert parsed is None or parsed.encode() == data


def note(data: bytes) -> None:
    try:
        parsed = parse_note(data)
        assert parsed.encode() == data
        checkpoint = Checkpoint.parse(parsed.text)
    except NoteMalformed:
        return
    assert checkpoint.text == parsed.text


def policy(data: bytes) -> None:
    try:
        parsed = parse_policy(data)
    except PolicyInvalid as exc:
        message = exc.message
    else:
        assert parsed.is_met_by(each.name for each in parsed.witnesses)
        return
    assert message.startswith("line ")


def bundle(data: bytes) -> None:
    try:
        entries = decode_bundle(data)
    except BundleMalformed:
        return
    assert encode_bundle(entries) == data


def path(data: bytes) -> None:
    text = data.decode(errors="replace")
    tile = parse_path(text)
    assert tile is None or tile.path == text


def verifier_key(data: bytes) -> None:
    text = data.decode(errors="replace")
    try:
        assert str(parse_verifier_key(text)) == text
    except KeyMalformed:
        return


def whole_receipt(data: bytes) -> None:
    """Check a receipt; one that holds has an entry of the log's."""
    result = check_receipt(data, KNOWN_POLICY)
    if result.fault is None:
        assert result.receipt is not None
        assert result.receipt.line in LINES
    else:
        assert result.detail


@cache
def _witness_client() -> WitnessClient:
    seconds = count(0, 1000)
    transport = route(WITNESS)
    return WitnessClient(WITNESSED, 60, transport=transport, clock=lambda: next(seconds))


def witness_answer(data: bytes) -> None:
    """Take an answer of a witness; a cosignature is one by its key over the checkpoint."""
    status, content_type = ANSWERS[data[0] % len(ANSWERS)] if data else ANSWERS[0]
    WITNESS.lie = always(lambda: respond(status, data[1:], content_type))
    request = CosigningRequest(CHECKPOINT, NOTE, lambda old: ())
    (result,) = _witness_client().cosign(request)
    if result.signature is not None:
        judgement = judge_note(add_cosignatures(NOTE, [result]), CHECKPOINT, WITNESSED)
        assert judgement.fault is None
    assert (result.signature is not None) == (result.outcome is WitnessOutcome.COSIGNED)


PARSERS: tuple[tuple[Callable[[bytes], None], bytes], ...] = (
    (entry, LINES[0]),
    (entry, LINES[2]),
    (note, NOTE.encode()),
    (policy, POLICY.encode()),
    (policy, f"{POLICY.replace('quorum none', '')}group a 1 b\nquorum a\n".encode()),
    (bundle, encode_bundle(LINES)),
    (path, b"tile/1/x001/234.p/5"),
    (verifier_key, str(KEY).encode()),
    (whole_receipt, receipt()),
    (witness_answer, b"\0" + WITNESS.cosign(CHECKPOINT)),
    (witness_answer, b"\x01%d\n" % CHECKPOINT.size),
)


def seeds() -> list[bytes]:
    return [bytes([number]) + seed for number, (_, seed) in enumerate(PARSERS)]


def run(data: bytes) -> None:
    if data:
        parse, _ = PARSERS[data[0] % len(PARSERS)]
        parse(data[1:])
