"""The versions of a cached answer that count: from the head of the chain downwards.

A version counts if its row has its own key, if its content has the hash that it names, and if that
is the hash that is expected of it.  A task expects of the newest version what the head row says,
and a view what the `stored` verdict says, which lie on other topics than the version; of any other
version both expect at least what the version after it names.  So a row that somebody else has
written onto `sap.cache` is never used, and costs one computation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from schemas import Undecodable, decode, sap, to_json
from topology.sap import SAP_CACHE, sap_key, sap_version

FIRST_PREVIOUS = "0" * 64
"""The `previousSha256` of version 1."""
MISSING, UNDECODABLE = "missing", "undecodable"
KEY_MISMATCH, HASH_MISMATCH = "key_mismatch", "hash_mismatch"
NOT_STORED = "not_stored"
"""Reasons why a version does not count; `not_stored`: no verdict says that it was stored."""
_RECORD = SAP_CACHE.record or ""


def version_fault(
    cache_key: str, version: int, record: Mapping[str, Any], expected: str | None
) -> str | None:
    """Return why a version does not count, None if it does.

    record: SapCacheRecord as JSON.  expected: the hash that it must have, None for any.
    """
    if (record["cacheKey"], record["version"]) != (cache_key, version):
        return KEY_MISMATCH
    if version == 1 and record["previousSha256"] != FIRST_PREVIOUS:
        return HASH_MISMATCH
    sha256 = _sha256(record)
    if sha256 != record["recordSha256"] or expected not in (None, sha256):
        return HASH_MISMATCH
    return None


def highest_version(exists: Callable[[int], bool]) -> int:
    """Find the highest version without a gap below it: doubling steps up, then halving ones."""
    version, step = 0, 1
    while exists(version + step):
        version, step = version + step, 2 * step
    while step := step // 2:
        if exists(version + step):
            version += step
    return version


def _sha256(record: Mapping[str, Any]) -> str | None:
    """Return the hash of a record, None if its content has no canonical JSON."""
    try:
        return sap.record_sha256(dict(record))
    except ValueError:
        return None


def json_record(row: bytes) -> dict[str, Any] | None:
    """Decode a version to JSON, None if that is not possible."""
    try:
        record: dict[str, Any] = to_json(_RECORD, decode(row, _RECORD).value)
    except (Undecodable, ValueError):
        return None
    return record


def row_name(cache_key: str, version: int) -> str:
    """Return the key of a version's row."""
    return sap_key(cache_key, sap_version(version))
