"""The storing of an answer as a version, which is never overwritten.

The versions of a key are a chain: each record contains its own hash and that of the previous one.
An existing row is never overwritten, even if the head does not know of it: then nothing is written,
and the verdict reports it.

Source: SAP guide, 5.4 (STORE, RELEASE), 2.4 (SapCacheRecord) and 5.1 (edges).
"""

from __future__ import annotations

from schemas import sap, to_json
from streams.engine.processor import AvroValue
from streams.processing.graph import LineageEdge
from streams.protocols.sap.cache import flights
from streams.protocols.sap.cache.lookup import send_verdict
from streams.protocols.sap.cache.slot import RECORD, CacheSlot
from streams.protocols.sap.counted_versions import FIRST_PREVIOUS
from streams.protocols.sap.decision import DecisionContext
from topology.machines.sap_flight import FlightEvent

STORED = "stored"


def store(lookup: AvroValue, slot: CacheSlot, ctx: DecisionContext) -> None:
    verdict, reason, version = _store_draft(lookup, slot, ctx)
    if slot.leader == lookup["taskId"]:
        flights.end(FlightEvent.STORED, slot, ctx)
    stored_sha256 = slot.head["recordSha256"] if verdict == STORED else None
    send_verdict(lookup, verdict, reason, slot, ctx, version, stored_sha256)
    flights.decide_again(slot, ctx)


def _store_draft(
    lookup: AvroValue, slot: CacheSlot, ctx: DecisionContext
) -> tuple[str, str, int | None]:
    """Store the draft if it is new; return the verdict, its reason and the version."""
    key = slot.store_key(lookup["taskId"])
    known = slot.stores.get(key)
    if known is not None:
        number = known["version"]
        return "store_duplicate", f"the task's answer is version {number} already", number
    version = slot.newest + 1
    if slot.has_row(version):
        reason = f"a row of version {version} is there, and rows are written once"
        return "cache_version_exists", reason, version
    record = _record(lookup["draft"], version, slot, ctx)
    slot.records.put(slot.version_key(version), record)
    slot.stores.put(key, {"version": version})
    slot.head["version"], slot.head["recordSha256"] = version, record["recordSha256"]
    node = f"sap:cache:{slot.cache_key}/{version}"
    source = f"sap:outcome:{record['taskId'].lower()}/{record['outcomeSeq']}"
    ctx.emit_edge(LineageEdge(node, "derived_from", source))
    if version > 1:
        ctx.emit_edge(LineageEdge(node, "replaces", f"sap:cache:{slot.cache_key}/{version - 1}"))
    return STORED, f"version {version}", version


def _record(draft: AvroValue, version: int, slot: CacheSlot, ctx: DecisionContext) -> AvroValue:
    record = {
        **draft,
        "version": version,
        "cause": ctx.cause,
        "previousSha256": slot.head["recordSha256"] or FIRST_PREVIOUS,
        "recordSha256": "",
    }
    record["recordSha256"] = sap.record_sha256(to_json(RECORD, record))
    return record


def release(lookup: AvroValue, slot: CacheSlot, ctx: DecisionContext) -> None:
    """End the flight of a leader, or the wait of a task; any other task has nothing to release."""
    task_id = lookup["taskId"]
    is_leader = slot.leader == task_id
    waits = [waiter for waiter in slot.waiters if waiter["taskId"] == task_id]
    for waiter in waits:
        flights.remove_waiter(waiter, slot, ctx)
    if is_leader:
        flights.end(FlightEvent.RELEASED, slot, ctx)
    what = "the flight" if is_leader else "a place among those who wait" if waits else "nothing"
    reason = f"{what} is given back: {lookup['reason'] or 'no reason given'}"
    send_verdict(lookup, "released", reason, slot, ctx)
    if is_leader:
        flights.decide_again(slot, ctx)
