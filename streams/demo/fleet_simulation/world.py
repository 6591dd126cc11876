"""The participants, and the quality of the protocols that they teach each other."""

from __future__ import annotations

from typing import NamedTuple

USE_CASES = ("forecast", "triage", "routing", "support")
SWARMS = ("amber", "birch", "cedar", "delta", "ember")
FIRST_TRANSFERS = 11
LATE = 21
"""The first generation in which protocols may cross use cases and decayed ones are refused."""
SECOND_TEACHERS = 26
"""The first generation in which two swarms teach a protocol in turn."""
DRIFT_AUDIT = 27
"""The generation of the audit, which measures the drift that nobody had measured."""

Curve = tuple[tuple[int, float], ...]
"""Points (generation, value) in order, with linear interpolation between them."""


class Protocol(NamedTuple):
    """A protocol that swarms teach each other.

    name: its id, before the suffix of the run.  home: the use case in which it was found.

    teachers: the swarm that found it, and the one that teaches it later, in turn with the first.
    taken, outcome, drift: the chance that a receiver takes it over, and what receivers measure
    (drift: None until the audit).  sound: never close to decay, so that its transfers are always
    accepted.
    """

    name: str
    home: str
    teachers: tuple[str, str]
    students: tuple[str, str]
    since: int
    taken: Curve
    outcome: Curve
    drift: Curve | None
    parents: tuple[str, ...] = ()
    sound: bool = True


PROTOCOLS = (
    Protocol(
        "calibrated-split",
        "forecast",
        ("amber", "birch"),
        ("cedar", "delta"),
        11,
        ((11, 0.75), (40, 0.97)),
        ((11, 0.6), (40, 0.95)),
        ((11, 0.3), (40, 0.05)),
    ),
    Protocol(
        "leakage-probe",
        "forecast",
        ("birch", "cedar"),
        ("amber", "ember"),
        13,
        ((13, 0.7), (40, 0.9)),
        ((13, 0.55), (40, 0.85)),
        ((13, 0.25), (40, 0.15)),
        ("calibrated-split",),
    ),
    Protocol(
        "triage-tree",
        "triage",
        ("cedar", "ember"),
        ("birch", "delta"),
        11,
        ((11, 0.8), (40, 0.7)),
        ((11, 0.7), (40, 0.6)),
        ((11, 0.2), (40, 0.3)),
    ),
    Protocol(
        "route-anneal",
        "routing",
        ("delta", "amber"),
        ("ember", "cedar"),
        12,
        ((12, 0.35), (25, 0.65), (40, 0.75)),
        ((12, 0.4), (40, 0.75)),
        ((12, 0.4), (40, 0.2)),
    ),
    Protocol(
        "commons-digest",
        "routing",
        ("ember", "delta"),
        ("amber", "birch"),
        21,
        ((21, 0.6), (40, 0.95)),
        ((21, 0.5), (40, 0.9)),
        ((21, 0.3), (40, 0.1)),
        ("route-anneal", "triage-tree"),
    ),
    Protocol(
        "prompt-cascade",
        "support",
        ("ember", "amber"),
        ("birch", "cedar"),
        11,
        ((11, 0.95), (13, 0.5), (15, 0.0), (40, 0.0)),
        ((11, 0.75), (14, 0.5), (16, 0.05), (40, 0.0)),
        ((11, 0.2), (14, 0.4), (17, 0.95), (40, 0.95)),
        sound=False,
    ),
    Protocol(
        "greedy-merge",
        "triage",
        ("birch", "delta"),
        ("amber", "ember"),
        11,
        ((11, 0.85), (40, 0.75)),
        ((11, 0.65), (40, 0.7)),
        ((11, 0.45), (14, 0.6), (16, 1.0), (40, 1.0)),
        ("triage-tree",),
        sound=False,
    ),
    Protocol(
        "blind-distill",
        "support",
        ("delta", "cedar"),
        ("amber", "ember"),
        12,
        ((12, 0.55), (40, 0.85)),
        ((12, 0.5), (40, 0.8)),
        None,
        sound=False,
    ),
    Protocol(
        "majority-vote",
        "routing",
        ("amber", "ember"),
        ("cedar", "birch"),
        14,
        ((14, 0.2), (20, 0.05), (40, 0.0)),
        ((14, 0.3), (20, 0.15), (40, 0.1)),
        ((14, 0.5), (40, 0.7)),
        sound=False,
    ),
)


def at(curve: Curve, generation: int) -> float:
    """Return the value of a curve; outside of it, the value of the nearer end."""
    (left, value), *others = curve
    for right, there in others:
        if left <= generation <= right:
            return value + (there - value) * (generation - left) / (right - left)
        left, value = right, there
    return curve[0][1] if generation < curve[0][0] else value
