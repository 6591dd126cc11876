"""Rows that count for a while only are deleted some time after.

A row whose time has passed counts as absent, whether it is still there or not; so each may be swept
late, by a timer of its own, and nobody sees that it goes.

Source: ASAP spec, 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from streams.engine.processor import Timer, Work
from streams.protocols.asap.processor.case import HOUR_MS
from streams.protocols.asap.processor.scene import Scene
from topology.asap import ASAP_CALLS, ASAP_CLAIMS, ASAP_REDIRECTS, ASAP_SEEN
from topology.declarations import Table


class Memory(NamedTuple):
    """at: the field that says from when a row's time runs.  hours: the setting of how long."""

    table: Table
    at: str
    hours: str


SEEN, CLAIM, REDIRECT, CLOSED_CALL = "seen", "claim", "redirect", "closed_call"
MEMORIES: Mapping[str, Memory] = {
    SEEN: Memory(ASAP_SEEN, "at", "ASAP_DEDUPE_HOURS"),
    CLAIM: Memory(ASAP_CLAIMS, "claimed_at", "ASAP_IDEMPOTENCY_HOURS"),
    REDIRECT: Memory(ASAP_REDIRECTS, "at", "ASAP_DEDUPE_HOURS"),
    CLOSED_CALL: Memory(ASAP_CALLS, "closed_at", "ASAP_DEDUPE_HOURS"),
}
"""By the kind of their timers."""


def later(kind: str, key: str, scene: Scene) -> None:
    """Sweep a row that was true to life just now, an hour after its time: records may be dated
    before the tick.
    """
    hours = scene.work.settings[MEMORIES[kind].hours] + 1
    scene.work.set_timer(Timer(scene.at + hours * HOUR_MS, kind, key, {}))


def sweep(timer: Timer, work: Work) -> None:
    """Delete a row; one that was written anew meanwhile has a timer of its own."""
    table, at, hours = MEMORIES[timer.kind]
    work.cause = f"timer/{timer.kind}/{timer.key}/{timer.due_ms}"
    rows = work.rows(table)
    row = rows.get(timer.key)
    if row is None or row[at] is None:
        return
    if row[at] + work.settings[hours] * HOUR_MS < timer.due_ms:
        rows.delete(timer.key)
