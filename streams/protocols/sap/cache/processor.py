"""Every lookup gets one verdict, and what was vetted once is never written again.

READ looks for an answer, and says who computes it if there is none; STORE keeps one; RELEASE gives
back a lead or a place among those who wait.  A task that was told to wait gets a second verdict
when its wait is over.

Source: SAP spec, 5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from streams.engine.processor import AvroValue, Message, Timer, Work
from streams.engine.records import header, position
from streams.processing.decision import traceparent_of
from streams.protocols.sap.cache import flights, storing, verdicts
from streams.protocols.sap.cache.entry import Entry
from streams.protocols.sap.cache.reading import MISS
from streams.protocols.sap.cache.scene import Scene
from streams.protocols.sap.constitution import Constitution, constitution_of
from topology.declarations import Table, Topic
from topology.machines.sap_flight import FlightEvent
from topology.sap import (
    SAP_CACHE_HEADS,
    SAP_CACHE_PROCESSOR,
    SAP_CACHE_STORES,
    SAP_CACHE_WAITS,
    sap_key,
)

_OPERATIONS: Mapping[str, Callable[[AvroValue, Entry, Scene], None]] = {
    "READ": flights.read,
    "STORE": storing.store,
    "RELEASE": storing.release,
}
_TABLES: Mapping[str, Table] = {
    flights.LAPSE: SAP_CACHE_HEADS,
    flights.SERVE: SAP_CACHE_HEADS,
    flights.WAIT: SAP_CACHE_WAITS,
}
"""What each kind of timer is about."""


class SapCacheProcessor:
    """The processor of `sap.lookups`."""

    declaration = SAP_CACHE_PROCESSOR

    def decide(self, batch: Sequence[Message], work: Work) -> None:
        lookups = [message.value for message in batch]
        work.rows(SAP_CACHE_HEADS).load(sap_key(lookup["cacheKey"]) for lookup in lookups)
        work.rows(SAP_CACHE_STORES).load(
            sap_key(lookup["cacheKey"], lookup["taskId"])
            for lookup in lookups
            if lookup["op"] == "STORE"
        )
        constitution = constitution_of(work.settings)
        for message, lookup in zip(batch, lookups, strict=True):
            scene = _scene(message, constitution, work)
            entry = Entry(lookup["cacheKey"], scene)
            _OPERATIONS[lookup["op"]](lookup, entry, scene)
            entry.save()

    def fire(self, timers: Sequence[Timer], now_ms: int, work: Work) -> None:
        work.rows(SAP_CACHE_HEADS).load(timer.key.partition("/")[0] for timer in timers)
        constitution = constitution_of(work.settings)
        for timer in timers:
            _fire(timer, now_ms, constitution, work)

    def too_large(self, message: Message, topic: Topic, size: int, work: Work) -> None:
        """Who asks is told that there is nothing; what was to be kept is not."""
        lookup, reason = message.value, f"{size} bytes on {topic.name} are more than a record may"
        scene = _scene(message, constitution_of(work.settings), work)
        entry = Entry(lookup["cacheKey"], scene)
        if lookup["op"] == "READ":
            verdicts.plain(lookup, MISS, reason, entry, scene)
        else:
            storing.release({**lookup, "reason": reason}, entry, scene)
        entry.save()

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _scene(message: Message, constitution: Constitution, work: Work) -> Scene:
    record = message.record
    parent = header(record, "traceparent")
    return Scene(work, constitution, position(record), message.value["at"], parent)


def _fire(timer: Timer, now_ms: int, constitution: Constitution, work: Work) -> None:
    """What a timer was set for may be over, also by an earlier timer of the same tick."""
    cause = f"timer/{work.partition}/{_TABLES[timer.kind].name}/{timer.key}@{timer.due_ms}"
    scene = Scene(work, constitution, cause, now_ms, traceparent_of(timer))
    cache_key, _, arrival = timer.key.partition("/")
    entry = Entry(cache_key, scene)
    if timer.kind == flights.WAIT:
        _expire(int(arrival), entry, scene)
    elif timer.kind == flights.LAPSE:
        _lapse(timer.due_ms, entry, scene)
    else:
        flights.decide_again(entry, scene)
    entry.save()


def _expire(arrival: int, entry: Entry, scene: Scene) -> None:
    for waiter in list(entry.waiters):
        if waiter["arrival"] == arrival:
            lookup = flights.take(waiter, entry, scene)
            waited = (scene.now - lookup["at"]) // 1000
            reason = f"no answer for {waited} s"
            verdicts.plain(lookup, "wait_expired", reason, entry, scene)


def _lapse(due_ms: int, entry: Entry, scene: Scene) -> None:
    flight = entry.head["flight"]
    if flight is None or flight["lapsesAt"] != due_ms:
        return
    flights.end(FlightEvent.LAPSED, entry, scene)
    entry.head["lapsedAt"] = due_ms
    leader = {"lookupId": flight["lookupId"], "taskId": flight["leaderTaskId"]}
    reason = f"silent since {(scene.now - flight['since']) // 1000} s"
    verdicts.plain(leader, "flight_lapsed", reason, entry, scene)
    flights.decide_again(entry, scene)
