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
from streams.protocols.sap.cache import verdicts
from streams.protocols.sap.cache.entry import Entry
from streams.protocols.sap.cache.reading import HIT, Answer, look
from streams.protocols.sap.cache.scene import Scene
from topology.keeping import MIB
from topology.machine import step
from topology.machines.sap_flight import MACHINE, FlightEvent, FlightState

LAPSE, WAIT, SERVE = "sap.flight", "sap.wait", "sap.serve"
"""Timers: a flight's lease is over; a task has waited; the rest of those who wait is looked at."""

PORTION_BYTES = 32 * MIB
"""Of answers to those who wait, in one decision; more would be too much for a transaction."""

PREFER = "prefer"


def answer_to(lookup: AvroValue, entry: Entry, scene: Scene) -> Answer:
    versions = entry.newest_versions(scene.setting("CACHE_SCAN"))
    return look(lookup, versions, scene.now, scene.constitution)


def read(lookup: AvroValue, entry: Entry, scene: Scene) -> None:
    """The four steps of a READ."""
    answer = answer_to(lookup, entry, scene)
    alone = lookup["mode"] != PREFER or not scene.setting("SINGLE_FLIGHT")
    if answer.verdict == HIT or alone:
        verdicts.tell(lookup, answer, entry, scene)
    elif may_lead(lookup["taskId"], entry):
        lead(lookup, answer, entry, scene)
    else:
        wait(lookup, answer, entry, scene)


def may_lead(task_id: str, entry: Entry) -> bool:
    """Nobody leads, or the task does already."""
    return step(MACHINE, entry.state, FlightEvent.LED) is not None or entry.leader == task_id


def lead(lookup: AvroValue, answer: Answer, entry: Entry, scene: Scene) -> None:
    """Open a flight, unless the task leads already."""
    if entry.leader is None:
        lapses_at = scene.now + 1000 * scene.setting("FLIGHT_LEASE_S")
        if entry.head["lapsedAt"] is not None:  # ids are made of the moment
            lapses_at = max(lapses_at, entry.head["lapsedAt"] + 1)
        entry.head["flight"] = {
            "leaderTaskId": lookup["taskId"],
            "lookupId": lookup["lookupId"],
            "since": scene.now,
            "lapsesAt": lapses_at,
        }
        scene.set_timer(lapses_at, LAPSE, entry.row_key)
    verdicts.tell(lookup, answer, entry, scene, leader=True)


def wait(lookup: AvroValue, answer: Answer, entry: Entry, scene: Scene) -> None:
    """Keep a lookup, if there is room and time; a task that waits already keeps its place."""
    for waiter in entry.waiters:
        if waiter["taskId"] == lookup["taskId"]:
            verdicts.waiting(lookup, answer, waiter["waitUntil"], entry, scene)
            return
    until = scene.now + 1000 * scene.setting("FLIGHT_WAIT_S")
    if lookup["deadlineAt"] is not None:
        until = min(until, lookup["deadlineAt"])
    if len(entry.waiters) >= scene.setting("FLIGHT_MAX_WAITERS") or until <= scene.now:
        verdicts.tell(lookup, answer, entry, scene)
        return
    arrival = entry.head["nextArrival"]
    entry.head["nextArrival"] = arrival + 1
    waiter = {"arrival": arrival, "taskId": lookup["taskId"], "waitUntil": until}
    entry.waiters.append(waiter)
    row = {"lookup": lookup, "waitUntil": until, "cause": scene.cause}
    entry.waits.put(entry.wait_key(arrival), row)
    scene.set_timer(*_timer(waiter, entry))
    verdicts.waiting(lookup, answer, until, entry, scene)


def take(waiter: AvroValue, entry: Entry, scene: Scene) -> AvroValue:
    """Let a task wait no more; its lookup."""
    key = entry.wait_key(waiter["arrival"])
    row = entry.waits.get(key)
    assert row is not None, "a lookup that waits has a row"
    entry.waits.delete(key)
    entry.waiters.remove(waiter)
    scene.work.delete_timer(*_timer(waiter, entry))
    lookup: AvroValue = row["lookup"]
    return lookup


def _timer(waiter: AvroValue, entry: Entry) -> tuple[int, str, str]:
    """When it is due, its kind and its key."""
    return waiter["waitUntil"] + 1, WAIT, entry.wait_key(waiter["arrival"])


def end(event: FlightEvent, entry: Entry, scene: Scene) -> None:
    """The flight is over."""
    assert step(MACHINE, entry.state, event) is FlightState.ABSENT
    flight = entry.head["flight"]
    entry.head["flight"] = None
    scene.work.delete_timer(flight["lapsesAt"], LAPSE, entry.row_key)


def decide_again(entry: Entry, scene: Scene) -> None:
    """Look at everyone who waits, in the order of arrival."""
    waiters = list(entry.waiters)
    entry.waits.load(entry.wait_key(waiter["arrival"]) for waiter in waiters)
    sent = 0
    for waiter in waiters:
        if sent > PORTION_BYTES:
            scene.set_timer(scene.now + 1, SERVE, entry.row_key)
            return
        row = entry.waits.get(entry.wait_key(waiter["arrival"]))
        assert row is not None, "a lookup that waits has a row"
        answer = answer_to(row["lookup"], entry, scene)
        if answer.verdict == HIT or not scene.setting("SINGLE_FLIGHT"):
            verdicts.tell(take(waiter, entry, scene), answer, entry, scene)
            sent += len(answer.version.body) if answer.version else 0
        elif may_lead(waiter["taskId"], entry):
            lead(take(waiter, entry, scene), answer, entry, scene)
