"""The hashes that rows of `sap.heuristics` and `sap.knowledge` name: if its own is wrong, a row is
absent.
"""

from __future__ import annotations

from typing import Any

from schemas import Undecodable, decode, sap, to_json
from streams.engine.processor import AvroValue
from topology.declarations import Topic

Json = dict[str, Any]


def has_its_hash(topic: Topic, row: AvroValue) -> bool:
    """Return whether a row has the hash that its `sha256` names."""
    return _is_hashed(to_json(topic.record or "", row))


def hashed_json(topic: Topic, row: bytes) -> Json | None:
    """Decode a row to JSON, None if that is not possible or its hash is wrong."""
    record = topic.record or ""
    try:
        value: Json = to_json(record, decode(row, record).value)
    except (Undecodable, ValueError):
        return None
    return value if _is_hashed(value) else None


def _is_hashed(value: Json) -> bool:
    try:
        return sap.record_sha256(value, "sha256") == str(value["sha256"])
    except ValueError:
        return False
