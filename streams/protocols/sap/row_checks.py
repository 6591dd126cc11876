"""Rows of SAP that are held against each other.

| table | what is verified |
|---|---|
| sap.cache | every record has its hash and that of the one before; no version is missing |
| sap.heuristics | no version is missing |
"""

from __future__ import annotations

from schemas import sap, to_json
from streams.replay.checking import Given, RowProblems, Rows
from topology.sap import SAP_CACHE_TABLE

FIRST = "0" * 64


def cache(rows: Rows, given: Given) -> RowProblems:
    cache_key, version, before = "", 0, FIRST
    for key, row in rows:
        if row["cacheKey"] != cache_key:
            cache_key, version, before = row["cacheKey"], 0, FIRST
        own = sap.record_sha256(to_json(SAP_CACHE_TABLE.record, row))
        if row["version"] != version + 1:
            yield key, f"version {row['version']} follows {version}"
        if row["recordSha256"] != own:
            yield key, f"recordSha256 is {row['recordSha256']}, the record's hash is {own}"
        if row["previousSha256"] != before:
            yield key, "previousSha256 is not the hash of the version before"
        version, before = row["version"], own


def heuristics(rows: Rows, given: Given) -> RowProblems:
    last: dict[str, int] = {}
    for key, row in rows:
        before = last.get(row["capability"], 0)
        if row["version"] != before + 1:
            yield key, f"version {row['version']} follows {before}"
        last[row["capability"]] = row["version"]
