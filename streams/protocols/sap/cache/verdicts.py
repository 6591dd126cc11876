"""The verdicts that lookups get.

Source: SAP spec, 2.4 (SapCacheVerdict).
"""

from __future__ import annotations

from typing import Any

from streams.engine.processor import AvroValue
from streams.protocols.sap.cache.entry import Entry
from streams.protocols.sap.cache.reading import Answer
from streams.protocols.sap.cache.scene import Scene


def tell(
    lookup: AvroValue, answer: Answer, entry: Entry, scene: Scene, *, leader: bool = False
) -> None:
    """What a READ has found."""
    found = answer.version
    more = {"version": found.number, "ageSec": answer.age, "record": found.body} if found else {}
    _send(lookup, answer.verdict, answer.reason, entry, scene, leader=leader, **_of(answer), **more)


def waiting(lookup: AvroValue, answer: Answer, until: int, entry: Entry, scene: Scene) -> None:
    reason = f"{answer.verdict}; {entry.leader} computes it"
    _send(lookup, "waiting", reason, entry, scene, waitUntil=until, **_of(answer))


def plain(
    lookup: AvroValue,
    verdict: str,
    reason: str,
    entry: Entry,
    scene: Scene,
    version: int | None = None,
) -> None:
    """Any other verdict.  lookup: at least lookupId and taskId."""
    _send(lookup, verdict, reason, entry, scene, version=version)


def _of(answer: Answer) -> dict[str, Any]:
    checked = answer.checked
    return {
        "candidates": list(answer.candidates),
        "checks": None if checked is None else checked.checks,
        "violations": None if checked is None else checked.violations,
    }


def _send(
    lookup: AvroValue, verdict: str, reason: str, entry: Entry, scene: Scene, **more: Any
) -> None:
    value = {
        "lookupId": lookup["lookupId"],
        "taskId": lookup["taskId"],
        "cacheKey": entry.cache_key,
        "verdict": verdict,
        "reason": reason,
        "leader": False,
        "leaderTaskId": entry.leader,
        "waitUntil": None,
        "version": None,
        "ageSec": None,
        "record": None,
        "checks": None,
        "violations": None,
        "candidates": [],
    }
    scene.tell(lookup["taskId"], value | more)
