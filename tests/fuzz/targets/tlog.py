"""Bytes of any kind as an entry, a note, a policy, a bundle, a path or a receipt."""

from __future__ import annotations

from collections.abc import Callable

from streams.errors import PolicyInvalid
from streams.ops.tlog.entries import parse_entry
from streams.ops.tlog.keys import KeyMalformed, parse_verifier_key
from streams.ops.tlog.note import Checkpoint, NoteMalformed, parse_note
from streams.ops.tlog.policy import parse_policy
from streams.ops.tlog.receipt import check_receipt
from streams.ops.tlog.tiles import BundleMalformed, decode_bundle, encode_bundle, parse_path
from tests.unit.ops.tlog.example_log import KEY, LINES, NOTE, POLICY, receipt

KNOWN_POLICY = parse_policy(POLICY.encode())


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
)


def seeds() -> list[bytes]:
    return [bytes([number]) + seed for number, (_, seed) in enumerate(PARSERS)]


def run(data: bytes) -> None:
    if data:
        parse, _ = PARSERS[data[0] % len(PARSERS)]
        parse(data[1:])
