"""Single flight: one task computes the answer that several tasks look up.

The first task of a key without an answer leads: it opens a flight, and later tasks wait for its
answer.  A flight ends when its leader stores an answer or gives up, or when its lease expires.
Then all waiting lookups are decided again, in the order of arrival: those with a hit get it, the
first without one leads next, and the others continue to wait, each until the time that was fixed
on its arrival.

Source: SAP guide, 5.4.
"""

from __future__ import annotations

from streams.engine.processor import AvroValue
from streams.protocols.sap.cache.lookup import (
    HIT,
    MISS,
    LookupResult,
    choose_version,
    send_result,
    send_waiting,
)
from streams.protocols.sap.cache.slot import CacheSlot
from streams.protocols.sap.decision import DecisionContext
from topology.machine import step
from topology.machines.sap_flight import MACHINE, FlightEvent, FlightState
from topology.retention import MIB

LEASE_EXPIRED, WAIT_EXPIRED, DRAIN_WAITERS = "sap.flight", "sap.wait", "sap.serve"
"""Timers: a lease expires; a wait expires; the remaining waiters are decided again."""

BATCH_BYTES = 32 * MIB
"""Limit of the answers to waiters in one decision, so that they fit into a transaction."""

PREFER = "prefer"


def find(lookup: AvroValue, slot: CacheSlot, ctx: DecisionContext) -> LookupResult:
    versions, refusal = slot.newest_versions(ctx.setting("CACHE_SCAN"))
    if refusal is not None and not versions:
        return LookupResult(MISS, refusal)
    return choose_version(lookup, versions, ctx.at, ctx.constitution)


def read(lookup: AvroValue, slot: CacheSlot, ctx: DecisionContext) -> None:
    """Handle a READ: send a hit, or a miss, or lead a flight, or wait for one."""
    result = find(lookup, slot, ctx)
    without_flight = lookup["mode"] != PREFER or not ctx.setting("SINGLE_FLIGHT")
    if result.verdict == HIT or without_flight:
        send_result(lookup, result, slot, ctx)
    elif may_lead(lookup["taskId"], slot):
        lead(lookup, result, slot, ctx)
    else:
        wait(lookup, result, slot, ctx)


def may_lead(task_id: str, slot: CacheSlot) -> bool:
    """Return whether there is no leader, or the task is the leader."""
    return step(MACHINE, slot.state, FlightEvent.LED) is not None or slot.leader == task_id


def lead(lookup: AvroValue, result: LookupResult, slot: CacheSlot, ctx: DecisionContext) -> None:
    """Open a flight, unless the task leads already."""
    if slot.leader is None:
        lapses_at = ctx.at + 1000 * ctx.setting("FLIGHT_LEASE_S")
        if slot.head["lapsedAt"] is not None:  # the time is part of ids
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
    """Store a waiting lookup, if there is room and time; one that waits keeps its position."""
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


def remove_waiter(waiter: AvroValue, slot: CacheSlot, ctx: DecisionContext) -> AvroValue:
    """Remove a waiting task and return its lookup."""
    key = slot.wait_key(waiter["arrival"])
    row = slot.waits.get(key)
    assert row is not None, "a lookup that waits has a row"
    slot.waits.delete(key)
    slot.waiters.remove(waiter)
    ctx.work.delete_timer(*_timer(waiter, slot))
    lookup: AvroValue = row["lookup"]
    return lookup


def _timer(waiter: AvroValue, slot: CacheSlot) -> tuple[int, str, str]:
    """Return the due time, the kind and the key of a waiter's timer."""
    return waiter["waitUntil"] + 1, WAIT_EXPIRED, slot.wait_key(waiter["arrival"])


def end(event: FlightEvent, slot: CacheSlot, ctx: DecisionContext) -> None:
    """End the flight and delete its lease timer."""
    assert step(MACHINE, slot.state, event) is FlightState.ABSENT
    flight = slot.head["flight"]
    slot.head["flight"] = None
    ctx.work.delete_timer(flight["lapsesAt"], LEASE_EXPIRED, slot.row_key)


def decide_again(slot: CacheSlot, ctx: DecisionContext) -> None:
    """Decide again on all waiting lookups, in the order of arrival."""
    waiters = list(slot.waiters)
    slot.waits.load(slot.wait_key(waiter["arrival"]) for waiter in waiters)
    sent = 0
    for waiter in waiters:
        if sent > BATCH_BYTES:
            ctx.set_timer(ctx.at + 1, DRAIN_WAITERS, slot.row_key)
            return
        row = slot.waits.get(slot.wait_key(waiter["arrival"]))
        assert row is not None, "a lookup that waits has a row"
        result = find(row["lookup"], slot, ctx)
        if result.verdict == HIT or not ctx.setting("SINGLE_FLIGHT"):
            send_result(remove_waiter(waiter, slot, ctx), result, slot, ctx)
            sent += len(result.version.body) if result.version else 0
        elif may_lead(waiter["taskId"], slot):
            lead(remove_waiter(waiter, slot, ctx), result, slot, ctx)
