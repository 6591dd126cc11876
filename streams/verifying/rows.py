"""Rows that are held against themselves, against each other, or against what the facts say last.

They are verified where a task is at rest: where no fact came while the rows were read.

| table | what is verified |
|---|---|
| apc.coordination | the state is the one that the last note on it led to |
| apc.throttling | receivers and counts are those of the transfers judged so far |
| apc.lineage | the figures follow from the sums; the total is the sum over runs |
| asap.snapshots | the versions are those that the task's facts saved and did not delete |
| saop-rewinds | the state is the one that the last accepted command or the lapse led to |
| sap.cache | every record has its hash and that of the one before; no version is missing |
| sap.heuristics | no version is missing |
| summit.agents | the hash is the manifest's; it is the manifest that lies at its position |
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from schemas import sap, summit, to_json
from streams.processors.apc_lineage.effectiveness import figures, shown
from streams.processors.apc_lineage.rows import SUMS
from streams.verifying.checks import Given
from streams.verifying.findings import Fault
from topology import tables
from topology.declarations import Table
from topology.keys import split
from topology.machines.apc_inter import MACHINE as INTER
from topology.machines.apc_intra import MACHINE as INTRA

Row = dict[str, Any]
Rows = Iterator[tuple[str, Row]]
Said = Iterator[tuple[str, str]]
Check = Callable[[Rows, Given], Said]
"""Takes the rows of a table and a task, by key in order; says what is wrong with which."""
FIRST = "0" * 64
_SHOWN = ("acceptance_rate", "avg_outcome", "avg_drift_risk", "effectiveness_score")


def coordination(rows: Rows, given: Given) -> Said:
    for key, row in rows:
        place = ("coordination", row["session_id"], row["agent_id"])
        machine = INTER if row["agent_id"] is None else INTRA
        state = given.seen.get(*place) or machine.initial
        if state != row["state"]:
            yield key, f"it is in {row['state']}, the notes on it led to {state}"


def throttling(rows: Rows, given: Given) -> Said:
    for key, row in rows:
        known = given.seen.get("throttle", key) or {"accepted": 0, "rejected": {}, "receivers": []}
        found = {
            "accepted": row["accepted"],
            "rejected": row["rejected"],
            "receivers": [receiver["to_swarm"] for receiver in row["receivers"]],
        }
        for name, value in found.items():
            if value != known[name]:
                yield key, f"{name} is {value}, the facts make it {known[name]}"


def lineage(rows: Rows, given: Given) -> Said:
    left: dict[str, Counter[str]] = defaultdict(Counter)
    for key, row in rows:
        rate, outcome, drift, _, score = figures(row)
        wanted = (rate, outcome, drift, score)
        for name, figure in zip(_SHOWN, wanted, strict=True):
            follows = None if figure is None else shown(figure)
            if row[name] != follows:
                yield key, f"{name} is {row[name]}, the sums make it {follows}"
        sign = 1 if row["run_id"] is None else -1
        for name in SUMS:
            left[row["protocol_id"]][name] += sign * row[name]
    for protocol, sums in left.items():
        for name, rest in sums.items():
            if rest:
                yield protocol, f"{name} of the total is {rest} off the sum over runs"


def snapshots(rows: Rows, given: Given) -> Said:
    for key, row in rows:
        place = row["task_id"], row["version"]
        if list(place) != [split(key)[0], int(split(key)[1])]:
            yield key, f"it holds version {row['version']} of {row['task_id']}"
            continue
        cause = given.seen.get("snapshot", *place)
        if cause is None:
            yield key, "no fact says that this version was saved, or one says that it was deleted"
        elif cause != row["cause"]:
            yield key, f"its cause is {row['cause']}, the fact that saved it has {cause}"


def rewinds(rows: Rows, given: Given) -> Said:
    for key, row in rows:
        state = given.seen.get("rewind", key)
        if state != row["state"]:
            yield key, f"it is {row['state']}, the facts make it {state}"


def cache(rows: Rows, given: Given) -> Said:
    cache_key, version, before = "", 0, FIRST
    for key, row in rows:
        if row["cacheKey"] != cache_key:
            cache_key, version, before = row["cacheKey"], 0, FIRST
        own = sap.record_sha256(to_json(tables.SAP_CACHE.record, row))
        if row["version"] != version + 1:
            yield key, f"version {row['version']} follows {version}"
        if row["recordSha256"] != own:
            yield key, f"recordSha256 is {row['recordSha256']}, the record's hash is {own}"
        if row["previousSha256"] != before:
            yield key, "previousSha256 is not the hash of the version before"
        version, before = row["version"], own


def heuristics(rows: Rows, given: Given) -> Said:
    last: dict[str, int] = {}
    for key, row in rows:
        before = last.get(row["capability"], 0)
        if row["version"] != before + 1:
            yield key, f"version {row['version']} follows {before}"
        last[row["capability"]] = row["version"]


def agents(rows: Rows, given: Given) -> Said:
    for key, row in rows:
        hash = summit.judge_manifest(row["manifest"]).hash
        if row["manifestHash"] != hash:
            yield key, f"manifestHash is {row['manifestHash']}, the manifest's is {hash}"
        given_at = given.command(row["position"])
        if given_at is not None and summit.judge_manifest(dict(given_at)).hash != hash:
            yield key, f"the manifest at {row['position']} is another"
        parts = split(key)
        named = [row["agentId"], row["version"]]
        if parts != named[: len(parts)]:
            yield key, f"it is {row['agentId']} in version {row['version']}"
        state = given.seen.get("agent", key)
        if state is not None and state != row["state"]:
            yield key, f"it is {row['state']}, the facts make it {state}"


CHECKS: Mapping[Table, Check] = {
    tables.COORDINATION: coordination,
    tables.THROTTLING: throttling,
    tables.PROTOCOL_LINEAGE: lineage,
    tables.ASAP_SNAPSHOTS: snapshots,
    tables.REWINDS: rewinds,
    tables.SAP_CACHE: cache,
    tables.SAP_HEURISTICS: heuristics,
    tables.SUMMIT_AGENTS: agents,
}
FAULT = Fault.ROW_DIFFERS
