"""Receipts: each fault by its code, in its order, and no receipt that is changed holds."""

from __future__ import annotations

from base64 import b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.records import LogRecord
from streams.ops.tlog.keys import cosign_checkpoint, cosigner_key
from streams.ops.tlog.merkle import prove_inclusion
from streams.ops.tlog.note import Note
from streams.ops.tlog.policy import parse_policy
from streams.ops.tlog.receipt import (
    ReceiptFault,
    ReceiptMalformed,
    RecordMatch,
    check_receipt,
    encode_receipt,
    parse_receipt,
)
from tests.examples import example_count
from tests.unit.ops.tlog.example_log import (
    CHECKPOINT,
    FIRST,
    HEADERS,
    LINES,
    NOTE,
    ORIGIN,
    POLICY,
    TREE,
    receipt,
    signed,
)

WITNESS = Ed25519PrivateKey.from_private_bytes(bytes([9]) * 32)
WITNESSED = POLICY.replace("quorum none", f"witness W1 {cosigner_key('w1', WITNESS)}\nquorum W1")
RECORD = LogRecord("apc.events", 0, 0, 1732435200123, b"sess-1", b"\0\1\2", HEADERS)
RECEIPT = receipt()


def fault(data: bytes, policy: str = POLICY, record: LogRecord | None = None) -> str | None:
    return check_receipt(data, parse_policy(policy.encode()), record).fault


def test_a_receipt_holds() -> None:
    result = check_receipt(RECEIPT, parse_policy(POLICY.encode()), RECORD)
    assert result.fault is None
    assert result.detail == "apc.events/0/0 was in the log"
    assert result.record is RecordMatch.MATCHES
    assert result.receipt == parse_receipt(RECEIPT)
    assert result.receipt.entry == FIRST


def test_a_receipt_with_a_quorum_holds() -> None:
    note = NOTE.add([cosign_checkpoint("w1", WITNESS, CHECKPOINT, 1_732_435_202)])
    result = check_receipt(receipt(note=note), parse_policy(WITNESSED.encode()))
    assert result.fault is None
    assert result.cosignatures == (("W1", 1_732_435_202),)
    assert result.record is RecordMatch.NOT_GIVEN


def test_a_receipt_without_its_witness_names_it() -> None:
    result = check_receipt(RECEIPT, parse_policy(WITNESSED.encode()))
    assert result.fault is ReceiptFault.QUORUM_NOT_MET
    assert result.detail == "quorum W1 is not met, without W1"


def test_a_log_that_the_policy_does_not_know() -> None:
    other = Ed25519PrivateKey.generate()
    key = cosigner_key("w1", other)
    assert fault(RECEIPT, f"witness W {key}\nquorum none\n") == "log_unknown"


def test_a_signature_that_does_not_verify() -> None:
    line = NOTE.signatures[0]
    forged = Note(NOTE.text, (line._replace(signature=bytes(64)),))
    assert fault(receipt(note=forged)) == "signature_invalid"
    stale = cosign_checkpoint("w1", WITNESS, CHECKPOINT._replace(size=2), 1)
    assert fault(receipt(note=NOTE.add([stale])), WITNESSED) == "signature_invalid"


PATH = prove_inclusion(0, 3, TREE.node)


@pytest.mark.parametrize(
    ("index", "hashes"),
    [(0, PATH[:1]), (0, [*PATH, PATH[0]]), (0, PATH[::-1]), (1, PATH), (3, PATH), (0, [])],
)
def test_a_proof_that_does_not_lead_to_the_root(index: int, hashes: list[bytes]) -> None:
    data = encode_receipt(LINES[0], index, hashes, NOTE.encode())
    assert fault(data) == "proof_invalid"


def test_another_entry_leads_to_another_root() -> None:
    line = FIRST._replace(offset=1).encode()
    assert fault(encode_receipt(line, 0, PATH, NOTE.encode())) == "proof_invalid"


def test_the_proof_is_of_the_tree_that_was_signed() -> None:
    other = signed(CHECKPOINT._replace(root=bytes(32)))
    assert fault(receipt(note=other)) == "proof_invalid"


@pytest.mark.parametrize(
    "record",
    [
        RECORD._replace(topic="apc.event"),
        RECORD._replace(partition=1),
        RECORD._replace(offset=1),
        RECORD._replace(timestamp=1732435200124),
        RECORD._replace(key=None),
        RECORD._replace(value=b"\0\1\3"),
        RECORD._replace(headers=HEADERS[::-1]),
    ],
)
def test_a_record_that_differs(record: LogRecord) -> None:
    assert fault(RECEIPT, record=record) == "record_differs"


LINE = b64encode(LINES[0])
HASH = b64encode(PATH[0])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        RECEIPT.partition(b"\n\n")[0],
        RECEIPT.replace(b"@v1", b"@v2"),
        RECEIPT.replace(b"extra " + LINE + b"\n", b""),
        RECEIPT.replace(LINE, b64encode(LINES[2])),
        RECEIPT.replace(LINE, b64encode(b"\xff")),
        RECEIPT.replace(LINE, LINE + b"!"),
        RECEIPT.replace(b"index 0\n", b""),
        RECEIPT.replace(b"index 0", b"index 00"),
        RECEIPT.replace(b"index 0", b"index -1"),
        RECEIPT.replace(b"index 0", b"index 9223372036854775808"),
        RECEIPT.replace(HASH, HASH[:-4]),
        RECEIPT.replace(HASH, b"x"),
        RECEIPT.replace(HASH, HASH + b"\xff"),
        RECEIPT.replace(HASH, b"\n".join([HASH] * 63)),
        RECEIPT.replace(b"\n3\n", b"\n3\nextension\n"),
        RECEIPT.replace(b"index", b"\r\nindex"),
        RECEIPT + b"x" * (1 << 20),
    ],
)
def test_bytes_of_another_form_are_malformed(data: bytes) -> None:
    with pytest.raises(ReceiptMalformed):
        parse_receipt(data)
    assert fault(data, record=RECORD) == "receipt_malformed"


def test_sixty_three_hashes_are_read() -> None:
    data = RECEIPT.replace(HASH, b"\n".join([HASH] * 62))
    assert len(parse_receipt(data).hashes) == 63
    assert fault(data) == "proof_invalid"


@given(st.integers(0, len(RECEIPT) - 1), st.integers(1, 255))
@settings(max_examples=example_count(1000), deadline=None)
def test_no_receipt_with_another_byte_holds(place: int, change: int) -> None:
    data = bytearray(RECEIPT)
    data[place] ^= change
    assert fault(bytes(data)) is not None


@given(st.binary(max_size=200))
@settings(max_examples=example_count(300), deadline=None)
def test_any_bytes_behind_the_header_are_refused_with_a_code(data: bytes) -> None:
    assert fault(b"c2sp.org/tlog-proof@v1\n" + data) == "receipt_malformed"


def test_the_origin_is_that_of_the_key() -> None:
    other = CHECKPOINT._replace(origin="example.com/other")
    note = Note(other.text, NOTE.signatures)
    assert ORIGIN not in other.text
    assert fault(receipt(note=note)) == "log_unknown"
