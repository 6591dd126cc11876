"""The heuristics that a task is bound to when it is accepted.

Versions of a capability are numbered from 1 without a hole, so the newest one that this worker
has read is found by asking for a few keys.

Source: SAP spec, 5.2 step 5 and 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from streams.engine.processor import AvroValue, Copy
from topology.sap import sap_key, sap_version


class Policy(NamedTuple):
    """bound: SapPolicy.  volatile: names of payload members that were learned not to matter."""

    bound: AvroValue
    volatile: tuple[str, ...]


def no_policy() -> Policy:
    return Policy(_bound(0, 0, {}, ()), ())


def policy_of(capability: str, constitution: str, rows: Copy) -> Policy:
    """Thresholds and checks hold only under the constitution that they were derived with."""
    row = newest(capability, rows)
    if row is None:
        return no_policy()
    applies = row["constitution"] == constitution
    thresholds = row["thresholds"] if applies else {}
    checks = row["extraChecks"] if applies else ()
    bound = _bound(row["version"], row["extractorVersion"], thresholds, checks)
    return Policy(bound, tuple(row["volatileKeys"]))


def newest(capability: str, rows: Copy) -> AvroValue | None:
    """The row of the highest version: doubling steps up, then halving ones."""
    found, version, step = None, 0, 1
    while (row := rows.get(_key(capability, version + step))) is not None:
        found, version, step = row, version + step, 2 * step
    while step := step // 2:
        if (row := rows.get(_key(capability, version + step))) is not None:
            found, version = row, version + step
    return found


def _key(capability: str, version: int) -> str:
    return sap_key(capability, sap_version(version))


def _bound(
    version: int, extractor: int, thresholds: Mapping[str, float], checks: Sequence[str]
) -> AvroValue:
    return {
        "heuristicsVersion": version,
        "extractorVersion": extractor,
        "thresholds": dict(thresholds),
        "extraChecks": list(checks),
    }
