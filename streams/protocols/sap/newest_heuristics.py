"""The newest version of a capability's heuristics that counts.

A version counts if it has its own key and its own hash, and names the hash of the version before
it.  Where two versions are whole and the later one names another hash than the earlier one has,
nobody can tell which of them was forged, so neither counts.  A forged version that continues the
chain is used until the learning task writes the next one; `headrace verify` names it.

Source: SAP guide, 5.5.
"""

from __future__ import annotations

from streams.engine.processor import AvroValue, GlobalTable
from streams.engine.refused_rows import PROCESS
from streams.protocols.sap.counted_versions import (
    FIRST_PREVIOUS,
    HASH_MISMATCH,
    KEY_MISMATCH,
    highest_version,
)
from streams.protocols.sap.row_hashes import has_its_hash
from topology.sap import SAP_HEURISTICS, sap_key, sap_version


def newest_heuristics(capability: str, rows: GlobalTable) -> AvroValue | None:
    """Return the row of the highest version that counts, None if there is none."""
    version = highest_version(lambda number: rows.get(_key(capability, number)) is not None)
    while version > 0:
        row, before = (_whole_row(capability, number, rows) for number in (version, version - 1))
        if row is not None and (before is None or row["previousSha256"] == before["sha256"]):
            if version > 1 or row["previousSha256"] == FIRST_PREVIOUS:
                return row
            PROCESS.count(SAP_HEURISTICS.name, HASH_MISMATCH, _key(capability, version))
            return None
        if row is not None:
            PROCESS.count(SAP_HEURISTICS.name, HASH_MISMATCH, _key(capability, version))
        version -= 1 if row is None else 2
    return None


def _whole_row(capability: str, version: int, rows: GlobalTable) -> AvroValue | None:
    """Return a version that has its own key and hash, else None."""
    key = _key(capability, version)
    row = rows.get(key) if version else None
    if row is None:
        return None
    fault = None if has_its_hash(SAP_HEURISTICS, row) else HASH_MISMATCH
    if (row["capability"], row["version"]) != (capability, version):
        fault = KEY_MISMATCH
    if fault is not None:
        PROCESS.count(SAP_HEURISTICS.name, fault, key)
    return row if fault is None else None


def _key(capability: str, version: int) -> str:
    return sap_key(capability, sap_version(version))
