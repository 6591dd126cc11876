"""One task computes what many ask for.

The first task of a key that finds nothing leads: it opens a flight, and those that come after it
wait for its answer.  A flight ends when its leader stores or gives up, or when it has been silent
for the length of its lease.  Then everyone who waits is looked at again, in the order of arrival:
who can be served is, the first who cannot leads next, and the others go on waiting, each until the
moment that was fixed when it came.

Source: SAP spec, 5.4.
"""

from __future__ import annotations

from streams.engine.processor import AvroValue
from streams.protocols.sap.cache.lookup import (
    HIT,
    LookupResult,
    look,
    send_result,
    send_waiting,
)
from streams.protocols.sap.cache.slot import CacheSlot
from streams.protocols.sap.decision import DecisionContext
from topology.machine import step
from topology.machines.sap_flight import MACHINE, FlightEvent, FlightState
from topology.retention import MIB

LEASE_EXPIRED, WAIT_EXPIRED, DRAIN_WAITERS = "sap.flight", "sap.wait", "sap.serve"
"""Timers: a flight's lease is over; a task has waited; the rest of those who wait is looked at."""

PORTION_BYTES = 32 * MIB
"""Of answers to those who wait, in one decision; more would be too much for a transaction."""

PREFER = "prefer"


def find(lookup: AvroValue, slot: CacheSlot, ctx: DecisionContext) -> LookupResult:
    versions = slot.newest_versions(ctx.setting("CACHE_SCAN"))
    return look(lookup, versions, ctx.at, ctx.constitution)


def read(lookup: AvroValue, slot: CacheSlot, ctx: DecisionContext) -> None:
    """The four steps of a READ."""
    result = find(lookup, slot, ctx)
    alone = lookup["mode"] != PREFER or not ctx.setting("SINGLE_FLIGHT")
    if result.verdict == HIT or alone:
        send_result(lookup, result, slot, ctx)
    elif may_lead(lookup["taskId"], slot):
        lead(lookup, result, slot, ctx)
    else:
        wait(lookup, result, slot, ctx)


def may_lead(task_id: str, slot: CacheSlot) -> bool:
    """Nobody leads, or the task does already."""
    return step(MACHINE, slot.state, FlightEvent.LED) is not None or slot.leader == task_id


def lead(lookup: AvroValue, result: LookupResult, slot: CacheSlot, ctx: DecisionContext) -> None:
    """Open a flight, unless the task leads already."""
    if slot.leader is None:
        lapses_at = ctx.at + 1000 * ctx.setting("FLIGHT_LEASE_S")
        if slot.head["lapsedAt"] is not None:  # ids are made of the moment
            lapses_at = max(lapses_at, slot.head["lapsedAt"] + 1)
        slot.head["flight"] = {
            "leaderTaskId": lookup["taskId"],
            "lookupId": lookup["lookupId"],
            "since": ctx.at,
            "lapsesAt": lapses_at,
        }
        ctx.set_timer(lapses_at, LEASE_EXPIRED, slot.row_key)
    send_result(lookup, result, slot, ctx, leader=True)


def wait(lookup: AvroValue, result: LookupResult, slot: CacheSlot, ctx: DecisionContext) -> None:
    """Keep a lookup, if there is room and time; a task that waits already keeps its place."""
    for waiter in slot.waiters:
        if waiter["taskId"] == lookup["taskId"]:
            send_waiting(lookup, result, waiter["waitUntil"], slot, ctx)
            return
    until = ctx.at + 1000 * ctx.setting("FLIGHT_WAIT_S")
    if lookup["deadlineAt"] is not None:
        until = min(until, lookup["deadlineAt"])
    if len(slot.waiters) >= ctx.setting("FLIGHT_MAX_WAITERS") or until <= ctx.at:
        send_result(lookup, result, slot, ctx)
        return
    arrival = slot.head["nextArrival"]
    slot.head["nextArrival"] = arrival + 1
    waiter = {"arrival": arrival, "taskId": lookup["taskId"], "waitUntil": until}
    slot.waiters.append(waiter)
    row = {"lookup": lookup, "waitUntil": until, "cause": ctx.cause}
    slot.waits.put(slot.wait_key(arrival), row)
    ctx.set_timer(*_timer(waiter, slot))
    send_waiting(lookup, result, until, slot, ctx)


def take(waiter: AvroValue, slot: CacheSlot, ctx: DecisionContext) -> AvroValue:
    """Let a task wait no more; its lookup."""
    key = slot.wait_key(waiter["arrival"])
    row = slot.waits.get(key)
    assert row is not None, "a lookup that waits has a row"
    slot.waits.delete(key)
    slot.waiters.remove(waiter)
    ctx.work.delete_timer(*_timer(waiter, slot))
    lookup: AvroValue = row["lookup"]
    return lookup


def _timer(waiter: AvroValue, slot: CacheSlot) -> tuple[int, str, str]:
    """When it is due, its kind and its key."""
    return waiter["waitUntil"] + 1, WAIT_EXPIRED, slot.wait_key(waiter["arrival"])


def end(event: FlightEvent, slot: CacheSlot, ctx: DecisionContext) -> None:
    """The flight is over."""
    assert step(MACHINE, slot.state, event) is FlightState.ABSENT
    flight = slot.head["flight"]
    slot.head["flight"] = None
    ctx.work.delete_timer(flight["lapsesAt"], LEASE_EXPIRED, slot.row_key)


def decide_again(slot: CacheSlot, ctx: DecisionContext) -> None:
    """Look at everyone who waits, in the order of arrival."""
    waiters = list(slot.waiters)
    slot.waits.load(slot.wait_key(waiter["arrival"]) for waiter in waiters)
    sent = 0
    for waiter in waiters:
        if sent > PORTION_BYTES:
            ctx.set_timer(ctx.at + 1, DRAIN_WAITERS, slot.row_key)
            return
        row = slot.waits.get(slot.wait_key(waiter["arrival"]))
        assert row is not None, "a lookup that waits has a row"
        result = find(row["lookup"], slot, ctx)
        if result.verdict == HIT or not ctx.setting("SINGLE_FLIGHT"):
            send_result(take(waiter, slot, ctx), result, slot, ctx)
            sent += len(result.version.body) if result.version else 0
        elif may_lead(waiter["taskId"], slot):
            lead(take(waiter, slot, ctx), result, slot, ctx)
