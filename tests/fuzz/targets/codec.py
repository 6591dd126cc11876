"""Bytes of any kind as a record: decoded, or refused with a code (single object and framed)."""

from __future__ import annotations

import re

import pytest

from schemas import CATALOGUE, Undecodable, decode, decode_many, encode, from_json
from schemas.codec import fingerprint_of
from streams.ingress.edges import EDGES
from tests.fuzz import examples

RECORDS = sorted(CATALOGUE.records())


def seeds() -> list[bytes]:
    inputs = []
    for seed in examples.seeds():
        topic, value = examples.picked(seed)
        record = EDGES[topic].topic.record or ""
        try:
            body = encode(record, from_json(record, value))
        except Exception:  # an example that Avro cannot carry is none here
            continue
        inputs += [bytes([RECORDS.index(record)]) + form for form in (body, *single(record, body))]
    return inputs


def single(record: str, framed: bytes) -> list[bytes]:
    """The same in single-object encoding, under the fingerprint of each version."""
    versions = CATALOGUE.versions(record)
    return [b"\xc3\x01" + fingerprint_of(entry.schema) + framed[5:] for entry in versions]


def run(data: bytes) -> None:
    if len(data) < 2:
        return
    record, body = RECORDS[data[0] % len(RECORDS)], data[1:]
    (decoded,) = decode_many([body], record)
    if isinstance(decoded, Undecodable):
        assert decoded.code
        assert decoded.message
        with pytest.raises(Undecodable, match=re.escape(decoded.message)):
            decode(body, record)
    else:
        again = decode(encode(record, decoded.value), record).value
        assert repr(again) == repr(decoded.value)  # NaN is not equal to itself
