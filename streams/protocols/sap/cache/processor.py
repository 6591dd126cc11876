"""The cache processor: every lookup gets one verdict, and a stored version is never overwritten.

READ looks up an answer, and names the leader if there is none; STORE stores one; RELEASE ends a
lead or a wait.  A task that waits gets a second verdict at the end of its wait.

Source: SAP guide, 5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer
from streams.engine.records import header, position
from streams.processing.decision import traceparent_of
from streams.protocols.sap.cache import flights, storing
from streams.protocols.sap.cache.lookup import MISS, send_verdict
from streams.protocols.sap.cache.slot import CacheSlot
from streams.protocols.sap.decision import DecisionContext
from topology.declarations import Table, Topic
from topology.machines.sap_flight import FlightEvent
from topology.sap import (
    SAP_CACHE_HEADS,
    SAP_CACHE_PROCESSOR,
    SAP_CACHE_STORES,
    SAP_CACHE_WAITS,
    sap_key,
)

_OPERATIONS: Mapping[str, Callable[[AvroValue, CacheSlot, DecisionContext], None]] = {
    "READ": flights.read,
    "STORE": storing.store,
    "RELEASE": storing.release,
}
_TABLES: Mapping[str, Table] = {
    flights.LEASE_EXPIRED: SAP_CACHE_HEADS,
    flights.DRAIN_WAITERS: SAP_CACHE_HEADS,
    flights.WAIT_EXPIRED: SAP_CACHE_WAITS,
}
"""The table of each kind of timer."""


class SapCacheProcessor:
    """The processor of `sap.lookups`."""

    declaration = SAP_CACHE_PROCESSOR

    def decide(self, batch: Sequence[Message], context: ProcessorContext) -> None:
        lookups = [message.value for message in batch]
        context.rows(SAP_CACHE_HEADS).load(sap_key(lookup["cacheKey"]) for lookup in lookups)
        context.rows(SAP_CACHE_STORES).load(
            sap_key(lookup["cacheKey"], lookup["taskId"])
            for lookup in lookups
            if lookup["op"] == "STORE"
        )
        for message, lookup in zip(batch, lookups, strict=True):
            ctx = _context(message, context)
            slot = CacheSlot(lookup["cacheKey"], context)
            _OPERATIONS[lookup["op"]](lookup, slot, ctx)
            slot.save()

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        ctx.rows(SAP_CACHE_HEADS).load(timer.key.partition("/")[0] for timer in timers)
        for timer in timers:
            _fire(timer, now_ms, ctx)

    def too_large(
        self, message: Message, topic: Topic, size: int, context: ProcessorContext
    ) -> None:
        """Answer a READ with a miss, and a STORE by releasing the flight without storing."""
        lookup, reason = message.value, f"{size} bytes on {topic.name} are more than a record may"
        ctx = _context(message, context)
        slot = CacheSlot(lookup["cacheKey"], context)
        if lookup["op"] == "READ":
            send_verdict(lookup, MISS, reason, slot, ctx)
        else:
            storing.release({**lookup, "reason": reason}, slot, ctx)
        slot.save()

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _context(message: Message, ctx: ProcessorContext) -> DecisionContext:
    record = message.record
    parent = header(record, "traceparent")
    return DecisionContext(ctx, position(record), message.value["at"], parent)


def _fire(timer: Timer, now_ms: int, context: ProcessorContext) -> None:
    """Handle a timer, whose subject may be gone, also by an earlier timer of the same tick."""
    cause = f"timer/{context.partition}/{_TABLES[timer.kind].name}/{timer.key}@{timer.due_ms}"
    ctx = DecisionContext(context, cause, now_ms, traceparent_of(timer))
    cache_key, _, arrival = timer.key.partition("/")
    slot = CacheSlot(cache_key, context)
    if timer.kind == flights.WAIT_EXPIRED:
        _expire_wait(int(arrival), slot, ctx)
    elif timer.kind == flights.LEASE_EXPIRED:
        _expire_lease(timer.due_ms, slot, ctx)
    else:
        flights.decide_again(slot, ctx)
    slot.save()


def _expire_wait(arrival: int, slot: CacheSlot, ctx: DecisionContext) -> None:
    for waiter in list(slot.waiters):
        if waiter["arrival"] == arrival:
            lookup = flights.remove_waiter(waiter, slot, ctx)
            waited = (ctx.at - lookup["at"]) // 1000
            reason = f"no answer for {waited} s"
            send_verdict(lookup, "wait_expired", reason, slot, ctx)


def _expire_lease(due_ms: int, slot: CacheSlot, ctx: DecisionContext) -> None:
    flight = slot.head["flight"]
    if flight is None or flight["lapsesAt"] != due_ms:
        return
    flights.end(FlightEvent.LAPSED, slot, ctx)
    slot.head["lapsedAt"] = due_ms
    leader = {"lookupId": flight["lookupId"], "taskId": flight["leaderTaskId"]}
    reason = f"silent since {(ctx.at - flight['since']) // 1000} s"
    send_verdict(leader, "flight_lapsed", reason, slot, ctx)
    flights.decide_again(slot, ctx)
