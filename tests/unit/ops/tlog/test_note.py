"""Notes and checkpoints: the test vector, and bytes that are none."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from streams.ops.tlog.keys import (
    KeyMalformed,
    KeyType,
    PrivateKey,
    cosign_checkpoint,
    cosigner_key,
    parse_verifier_key,
    sign_checkpoint,
    verifier_key,
)
from streams.ops.tlog.note import Checkpoint, NoteMalformed, parse_note, to_base64
from tests.unit.ops.tlog.example_log import CHECKPOINT, KEY, NOTE, ORIGIN

VKEY = f"{ORIGIN}+87450b38+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
SIGNATURE = (
    "h0ULOCwe/yy30DRIk+Df8QKpWaDSxbluHt3awmAOrrppENPAQCwo0xoZcbRSYsYdj4MKzQAUYdU12pTa6iPt+J6cqQ0="
)
VECTOR = f"""{ORIGIN}
3
cvt/zlFTFGFuB1gz2x0D3NKRLtFkuNBj5A8kojjVFz4=

\u2014 {ORIGIN} {SIGNATURE}
"""
TIME_S = 1_732_435_201
LINE = NOTE.signatures[0].line


def test_the_vectors_of_a_checkpoint_and_a_key() -> None:
    assert str(KEY) == VKEY
    assert NOTE.encode() == VECTOR.encode()
    note = parse_note(VECTOR.encode())
    assert note == NOTE
    assert Checkpoint.parse(note.text) == CHECKPOINT
    assert parse_verifier_key(VKEY) == KEY


def test_a_text_may_have_empty_lines() -> None:
    note = parse_note(f"one\n\ntwo\n\n{LINE}".encode())
    assert note.text == "one\n\ntwo\n"
    with pytest.raises(NoteMalformed):
        Checkpoint.parse(note.text)


def test_the_example_of_a_key_in_the_format_is_read() -> None:
    text = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
    key = parse_verifier_key(text)
    assert (key.name, key.type) == ("example.com/foo", KeyType.ED25519)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\n\n",
        VECTOR.encode()[:-1],
        VECTOR.encode().replace(b"\n\n", b"\n"),
        VECTOR.encode() + b"\n",
        VECTOR.encode() + b"x",
        VECTOR.encode().replace(b"\xe2\x80\x94", b"-"),
        VECTOR.encode().replace(b"=\n\n", b"=\r\n\n"),
        VECTOR.encode().replace(b"3\n", b"3\t\n"),
        b"\xff" + VECTOR.encode(),
        f"text\n\n\u2014 a+b {'A' * 92}\n".encode(),
        f"text\n\n\u2014  {'A' * 92}\n".encode(),
        "text\n\n\u2014 name AAAA\n".encode(),
        "text\n\n\u2014 name AAAAAA==\n".encode(),
        "text\n\n\u2014 name AAAAAAB=\n".encode(),
        "text\n\n\u2014 name AAAA AAAA\n".encode(),
        f"text\n\n{LINE * 65}".encode(),
        f"{'x' * (64 * 1024)}\n\n{LINE}".encode(),
    ],
)
def test_bytes_of_another_form_are_no_note(data: bytes) -> None:
    with pytest.raises(NoteMalformed):
        parse_note(data)


def test_sixty_four_signatures_are_read() -> None:
    assert len(parse_note(f"text\n\n{LINE * 64}".encode()).signatures) == 64


ROOT = to_base64(bytes(32))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\n",
        f"a\n1\n{ROOT}",
        f"a\n1\n{ROOT}\nextension\n",
        f"a\n01\n{ROOT}\n",
        f"a\n-1\n{ROOT}\n",
        f"a\n9223372036854775808\n{ROOT}\n",
        f"a\n\u0661\n{ROOT}\n",
        f"a b\n1\n{ROOT}\n",
        f"a+b\n1\n{ROOT}\n",
        f"\n1\n{ROOT}\n",
        f"{'a' * 256}\n1\n{ROOT}\n",
        f"a\n1\n{to_base64(bytes(31))}\n",
        "a\n1\nx\n",
    ],
)
def test_a_text_of_another_form_is_no_checkpoint(text: str) -> None:
    with pytest.raises(NoteMalformed):
        Checkpoint.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        VKEY.replace("87450b38", "87450b39"),
        VKEY.replace("87450b38", "87450B38"),
        VKEY.replace(ORIGIN, "other"),
        VKEY.replace(ORIGIN, ""),
        VKEY + "A",
        "a+00000000+",
        "a+00000000+AQ==",
        f"a+00000000+{to_base64(bytes([2]) + bytes(32))}",
        f"a+00000000+{to_base64(bytes([6]) + bytes(32))}",
    ],
)
def test_a_text_of_another_form_is_no_verifier_key(text: str) -> None:
    with pytest.raises(KeyMalformed):
        parse_verifier_key(text)


PRIVATE_KEYS: list[PrivateKey] = [Ed25519PrivateKey.generate(), MLDSA44PrivateKey.generate()]


@pytest.mark.parametrize("private", PRIVATE_KEYS, ids=["ed25519", "ml-dsa-44"])
def test_signatures_of_logs_and_witnesses_verify_for_what_they_sign(private: PrivateKey) -> None:
    log, witness = verifier_key(ORIGIN, private), cosigner_key("w.example/1", private)
    assert parse_verifier_key(str(log)) == log
    assert parse_verifier_key(str(witness)) == witness
    as_log = sign_checkpoint(private, CHECKPOINT, TIME_S).signature
    as_witness = cosign_checkpoint("w.example/1", private, CHECKPOINT, TIME_S).signature
    assert log.verify(as_log, CHECKPOINT) == (TIME_S if log.type.has_time else 0)
    assert witness.verify(as_witness, CHECKPOINT) == TIME_S
    for other in (
        CHECKPOINT._replace(origin="example.com/other"),
        CHECKPOINT._replace(size=4),
        CHECKPOINT._replace(root=bytes(32)),
    ):
        assert log.verify(as_log, other) is None
        assert witness.verify(as_witness, other) is None
    assert witness.verify(as_log, CHECKPOINT) is None
    assert log.verify(as_witness, CHECKPOINT) is None
    later = (TIME_S + 1).to_bytes(8, "big") + as_witness[8:]
    assert witness.verify(later, CHECKPOINT) is None
    for short in (b"", as_witness[:7], as_witness[:8], as_witness[:-1], as_witness + b"x"):
        assert witness.verify(short, CHECKPOINT) is None


def test_a_time_beyond_the_year_9999_is_no_signature() -> None:
    witness = cosigner_key("w", PRIVATE_KEYS[0])
    last = 253_402_300_799
    signature = cosign_checkpoint("w", PRIVATE_KEYS[0], CHECKPOINT, last).signature
    assert witness.verify(signature, CHECKPOINT) == last
    signature = cosign_checkpoint("w", PRIVATE_KEYS[0], CHECKPOINT, last + 1).signature
    assert witness.verify(signature, CHECKPOINT) is None
