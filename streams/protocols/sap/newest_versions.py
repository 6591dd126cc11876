"""The check of the newest cached versions on the log, for the doctor.

It reads the ends of two topics and no view, so that it is quick: the versions, and the verdicts
that say what was stored.  The first record of a version stands; what is expected of it is what its
`stored` verdict says, and where that is not among the newest, what the version after it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from schemas.canonical import sha256_hex
from schemas.projection import Projection
from streams.engine.log import Log
from streams.engine.records import Record, position
from streams.engine.refused_rows import WRITTEN_ONCE
from streams.log.reading import partitions, records
from streams.processing.log_check import LogCheck, NewestRecords
from streams.protocols.sap.counted_versions import (
    KEY_MISMATCH,
    UNDECODABLE,
    json_record,
    row_name,
    version_fault,
)
from streams.views.decoded import decode_members
from topology.declarations import Topic
from topology.sap import SAP_CACHE, SAP_VERDICTS
from topology.topics import full_name

MAX_VERSIONS = 10_000
_MAX_VERDICTS = 2 * MAX_VERSIONS
_PART = 200
_STORED = "stored"
_VERDICTS = Projection(
    SAP_VERDICTS.record or "", ("cacheKey", "verdict", "version", "recordSha256")
)

VersionId = tuple[str, int]


class _Version(NamedTuple):
    """The first record of a version.  fault: what is wrong with it whatever is expected of it."""

    place: str
    digest: str
    sha256: str
    previous_sha256: str
    fault: str | None


def check_versions(log: Log, prefix: str) -> NewestRecords:
    """Check the newest versions.  prefix: of the topics' names."""
    versions: dict[VersionId, _Version] = {}
    refused: list[tuple[str, str]] = []
    for record in _newest(log, SAP_CACHE, MAX_VERSIONS, prefix):
        refusal = _read(record, versions)
        if refusal is not None:
            refused.append((position(record), refusal))
    stored = _stored_hashes(log, prefix) if versions else {}
    refused += [
        (version.place, fault)
        for id, version in versions.items()
        if (fault := _fault(id, version, versions, stored)) is not None
    ]
    first = min(refused, key=lambda each: _place_order(each[0])) if refused else (None, None)
    return NewestRecords(len(versions), len(refused), *first)


def _newest(log: Log, topic: Topic, count: int, prefix: str) -> Iterator[Record]:
    """Read the newest records of a topic, about as many of each partition."""
    tps = partitions(log, [full_name(topic, prefix)])
    starts, ends = log.starts(tps), log.ends(tps)
    share = -(-count // len(tps))
    begins = {tp: max(starts[tp], ends[tp] - share) for tp in tps}
    return records(log, tps, ends, begins)


def _read(record: Record, versions: dict[VersionId, _Version]) -> str | None:
    """Add a record to the versions; return why it cannot be one at all."""
    name = (record.key or b"").decode(errors="replace")
    if record.value is None:
        return WRITTEN_ONCE
    value = json_record(record.value)
    if value is None:
        return UNDECODABLE
    id = value["cacheKey"], value["version"]
    if row_name(*id) != name:
        return KEY_MISMATCH
    digest = sha256_hex(record.value)
    known = versions.get(id)
    if known is not None:
        return None if known.digest == digest else WRITTEN_ONCE
    fault = version_fault(*id, value, None)
    versions[id] = _Version(
        position(record), digest, value["recordSha256"], value["previousSha256"], fault
    )
    return None


def _stored_hashes(log: Log, prefix: str) -> Mapping[VersionId, str]:
    """Return the hashes that the newest verdicts name; these are read in parts, being long."""
    hashes: dict[VersionId, str] = {}
    newest = (each for each in _newest(log, SAP_VERDICTS, _MAX_VERDICTS, prefix) if each.value)
    while part := list(islice(newest, _PART)):
        for _, value in decode_members(SAP_VERDICTS, part, _VERDICTS):
            if value["verdict"] == _STORED and value["recordSha256"] is not None:
                hashes[value["cacheKey"], value["version"]] = value["recordSha256"]
    return hashes


def _fault(
    id: VersionId,
    version: _Version,
    versions: Mapping[VersionId, _Version],
    stored: Mapping[VersionId, str],
) -> str | None:
    if version.fault is not None:
        return version.fault
    following = versions.get((id[0], id[1] + 1))
    named = following.previous_sha256 if following and following.fault is None else None
    expected = stored.get(id, named)
    return None if expected in (None, version.sha256) else "hash_mismatch"


def _place_order(place: str) -> tuple[int, int]:
    _, partition, offset = place.rsplit("/", 2)
    return int(partition), int(offset)


NEWEST_VERSIONS = LogCheck(
    "write-once",
    "cached versions",
    check_versions,
    "`headrace sap cache --verify` lists the versions that are refused, `headrace verify` compares"
    " answers that were served; find out who may write the topic (`headrace topics acls`).",
)
