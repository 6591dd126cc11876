"""An answer becomes a version, once and for ever.

The versions of a key are a chain: each record holds its own hash and that of the one before it.
A row that is there already is never written over, even if the head does not know of it: then
nothing is written, and the verdict says so.

Source: SAP spec, 5.4 (STORE, RELEASE), 2.4 (SapCacheRecord) and 5.1 (edges).
"""

from __future__ import annotations

from schemas import sap, to_json
from streams.engine.processor import AvroValue
from streams.protocols.sap.cache import flights, verdicts
from streams.protocols.sap.cache.entry import RECORD, Entry
from streams.protocols.sap.cache.scene import Scene
from topology.machines.sap_flight import FlightEvent

FIRST_PREVIOUS = "0" * 64
"""previousSha256 of version 1."""


def store(lookup: AvroValue, entry: Entry, scene: Scene) -> None:
    verdict, reason, version = _kept(lookup, entry, scene)
    if entry.leader == lookup["taskId"]:
        flights.end(FlightEvent.STORED, entry, scene)
    verdicts.plain(lookup, verdict, reason, entry, scene, version)
    flights.decide_again(entry, scene)


def _kept(lookup: AvroValue, entry: Entry, scene: Scene) -> tuple[str, str, int | None]:
    """The verdict, its reason and the version it is about."""
    key = entry.store_key(lookup["taskId"])
    known = entry.stores.get(key)
    if known is not None:
        number = known["version"]
        return "store_duplicate", f"the task's answer is version {number} already", number
    version = entry.newest + 1
    if entry.records.get(entry.version_key(version)) is not None:
        reason = f"a row of version {version} is there, and rows are written once"
        return "cache_version_exists", reason, version
    record = _record(lookup["draft"], version, entry, scene)
    entry.records.put(entry.version_key(version), record)
    entry.stores.put(key, {"version": version})
    entry.head["version"], entry.head["recordSha256"] = version, record["recordSha256"]
    own = f"sap:cache:{entry.cache_key}/{version}"
    source = f"sap:outcome:{record['taskId'].lower()}/{record['outcomeSeq']}"
    scene.draw(own, "derived_from", source)
    if version > 1:
        scene.draw(own, "replaces", f"sap:cache:{entry.cache_key}/{version - 1}")
    return "stored", f"version {version}", version


def _record(draft: AvroValue, version: int, entry: Entry, scene: Scene) -> AvroValue:
    record = {
        **draft,
        "version": version,
        "cause": scene.cause,
        "previousSha256": entry.head["recordSha256"] or FIRST_PREVIOUS,
        "recordSha256": "",
    }
    record["recordSha256"] = sap.record_sha256(to_json(RECORD, record))
    return record


def release(lookup: AvroValue, entry: Entry, scene: Scene) -> None:
    """A leader gives up, or a task waits no more; anyone else has nothing to give back."""
    task_id = lookup["taskId"]
    led = entry.leader == task_id
    own = [waiter for waiter in entry.waiters if waiter["taskId"] == task_id]
    for waiter in own:
        flights.take(waiter, entry, scene)
    if led:
        flights.end(FlightEvent.RELEASED, entry, scene)
    what = "the flight" if led else "a place among those who wait" if own else "nothing"
    reason = f"{what} is given back: {lookup['reason'] or 'no reason given'}"
    verdicts.plain(lookup, "released", reason, entry, scene)
    if led:
        flights.decide_again(entry, scene)
