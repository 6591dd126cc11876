"""Vetted answers: the newest of a cacheKey, and all its versions with proof."""

from __future__ import annotations

from collections.abc import Iterator

from schemas import sap
from streams.errors import NotFound
from streams.protocols.sap.queries.common import Json, json_of
from streams.views.keys import key
from streams.views.reads import Reads
from topology.sap import SAP_CACHE

FIRST = "0" * 64
"""What the first version follows."""


def newest(view: Reads, cacheKey: str, now: int) -> Json:
    """now: ms since the epoch, the age is counted to.  Raises NotFound."""
    rows = [row for _, row in view.scan(key("sap cache", cacheKey))]
    if not rows:
        raise NotFound(f"there is no answer under {cacheKey}")
    return {
        **with_age(json_of(SAP_CACHE, rows[-1]), now),
        "versions": len(rows),
        "refusedWrites": int(view.get("sap refused", cacheKey) or b"0"),
    }


def versions(view: Reads, cacheKey: str, now: int) -> Json:
    """Newest first.  Raises NotFound."""
    found = [
        {**with_age(record, now), "verified": verified}
        for record, verified in checked(view, cacheKey)
    ]
    if not found:
        raise NotFound(f"there is no answer under {cacheKey}")
    return {"cacheKey": cacheKey, "versions": found[::-1]}


def checked(view: Reads, cache_key: str | None = None) -> Iterator[tuple[Json, bool]]:
    """Every record, by key and version, and whether both its hashes hold and none is missing.

    cache_key: None for all of them.
    """
    prefix = key("sap cache") if cache_key is None else key("sap cache", cache_key)
    last, version, before = None, 0, FIRST
    for _, row in view.scan(prefix):
        record = json_of(SAP_CACHE, row)
        if record["cacheKey"] != last:
            last, version, before = record["cacheKey"], 0, FIRST
        own = sap.record_sha256(record)
        holds = own == record["recordSha256"] and record["previousSha256"] == before
        yield record, holds and record["version"] == version + 1
        version, before = record["version"], own


def with_age(record: Json, now: int) -> Json:
    return {**record, "ageSec": age_s(record["storedAt"], now)}


def age_s(stored_at: str, now: int) -> int:
    """Seconds, at least 0."""
    stored = sap.parse_seconds(stored_at)
    assert stored is not None, "the service has written it"
    return max(0, now // 1000 - stored)
