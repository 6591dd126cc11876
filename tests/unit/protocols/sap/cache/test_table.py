"""Every mode, mustAlign and state of a key, against the table of the SAP guide, 5.4."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.unit.protocols.sap.cache.support import Cache, summarize_verdicts, task_id

NONE, STALE, ALIGNED, MISALIGNED = "no entry", "only stale", "aligned", "misaligned"
AGE = 60
FAILS = {"constraints": ["must satisfy the output contract", "cite sources"]}
"""What a record without citations does not keep."""

TABLE = {
    ("prefer", True): ("miss", "stale", "hit", "misaligned"),
    ("prefer", False): ("miss", "stale", "hit", "hit"),
    ("only", True): ("miss", "stale", "hit", "misaligned"),
    ("only", False): ("miss", "stale", "hit", "hit"),
}
CASES = [
    (mode, align, state, verdict)
    for (mode, align), verdicts in TABLE.items()
    for state, verdict in zip((NONE, STALE, ALIGNED, MISALIGNED), verdicts, strict=True)
]


def _asked(mode: str, align: bool, state: str, **settings: Any) -> tuple[Cache, Any]:
    cache = Cache(**settings)
    if state != NONE:
        cache.store("S", 0)
    at = (AGE + 1) * 1000 if state == STALE else AGE * 1000
    context = FAILS if state == MISALIGNED else {}
    (verdict,) = cache.read(
        "A", at, mode=mode, mustAlign=align, maxAgeSec=AGE, context=dict(context)
    )
    return cache, verdict


@pytest.mark.parametrize(("mode", "align", "state", "expected"), CASES)
def test_verdict(mode: str, align: bool, state: str, expected: str) -> None:
    cache, verdict = _asked(mode, align, state)
    computes = mode == "prefer" and expected != "hit"
    assert (verdict["verdict"], verdict["leader"]) == (expected, computes)
    assert verdict["leaderTaskId"] == (task_id("A") if computes else None)
    assert (cache.head or {}).get("flight") is None or computes
    if expected == "hit":
        assert verdict["record"]["output_json"] == '"text"'
        assert (verdict["version"], verdict["ageSec"]) == (1, AGE)
        assert (verdict["checks"] is not None) == align
    else:
        assert verdict["record"] is None
    alignments = [candidate["alignment"] for candidate in verdict["candidates"]]
    checked = align and state in (ALIGNED, MISALIGNED)
    failed = "VALID" if state == ALIGNED else "NON_CONSTITUTIONAL"
    assert alignments == ([] if state == NONE else [failed if checked else None])


@pytest.mark.parametrize(("mode", "align", "state", "expected"), CASES)
def test_behind_a_flight(mode: str, align: bool, state: str, expected: str) -> None:
    """Only `prefer` without a hit waits."""
    cache = Cache()
    if state != NONE:
        cache.store("S", 0)
    at = (AGE + 1) * 1000 if state == STALE else AGE * 1000
    cache.read("L", at, maxAgeSec=0, context={})
    assert cache.head["flight"]["leaderTaskId"] == task_id("L")
    context = dict(FAILS) if state == MISALIGNED else {}
    (verdict,) = cache.read("A", at, mode=mode, mustAlign=align, maxAgeSec=AGE, context=context)
    waits = mode == "prefer" and expected != "hit"
    assert verdict["verdict"] == ("waiting" if waits else expected)
    assert not verdict["leader"]
    assert cache.waiting() == ([task_id("A")] if waits else [])


@pytest.mark.parametrize(("mode", "align"), list(product(("prefer", "only"), (True, False))))
def test_without_single_flight_nobody_leads_or_waits(mode: str, align: bool) -> None:
    cache, first = _asked(mode, align, NONE, SAP_SINGLE_FLIGHT=False)
    (second,) = cache.read("B", 90_000, mode=mode, mustAlign=align)
    assert summarize_verdicts([first, second]) == [("A", "miss", False), ("B", "miss", False)]
    assert cache.timers == {}


def test_the_newest_aligned_version_wins() -> None:
    cache = Cache()
    for n, name in enumerate("STU"):
        cache.store(name, n * 1000, output={"mail": "a@b.eu"} if name == "U" else name)
    (verdict,) = cache.read("A", 3000, mustAlign=True, context={"constraints": ["no PII"]})
    assert (verdict["verdict"], verdict["version"]) == ("hit", 2)
    seen = [(c["version"], c["alignment"]) for c in verdict["candidates"]]
    assert seen == [(3, "NON_CONSTITUTIONAL"), (2, "VALID"), (1, None)]


def test_only_the_newest_versions_are_considered() -> None:
    cache = Cache(SAP_CACHE_SCAN=2)
    for n, name in enumerate("STU"):
        cache.store(name, n * 1000, output={"mail": "a@b.eu"} if name != "S" else name)
    (verdict,) = cache.read("A", 3000, mustAlign=True, context={"constraints": ["no PII"]})
    assert verdict["verdict"] == "misaligned"
    assert [c["version"] for c in verdict["candidates"]] == [3, 2]
    assert "a@b.eu" not in verdict["reason"]


def test_a_record_of_the_future_has_no_age() -> None:
    cache = Cache()
    cache.store("S", 10_000)
    (verdict,) = cache.read("A", 4_000, maxAgeSec=0)
    assert (verdict["verdict"], verdict["ageSec"]) == ("hit", 0)
