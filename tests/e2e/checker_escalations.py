"""What is escalated of agents and tasks, told anew from turns and events: each exactly once, with
all its figures; the event of each; and the signals on tasks that began or failed too often.

Detectors begin anew when a task is turned back, and where that falls among its turns is written
nowhere.  So of a task that never was, escalations are exactly those of its turns; of another they
are those of its turns if its detectors begin anew at some places, at most as many as it was turned
back.  Where these are, and that they are any, is not checked.  Nor are the rows of detectors and
the edges of escalations.  It is for runs with the default thresholds.

Source: SAOP guide, 2.3, 4.2, 4.3 and 5.1.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any, NamedTuple

from schemas import uuid5_url
from schemas.formats import iso_ms
from streams.engine.records import Record, position
from tests.e2e.checker_tasks import FAILURES, Fold
from tests.e2e.findings import differences, repeated
from tests.e2e.history import Source, values_of
from tests.e2e.outputs import Json
from topology.saop import RTES_EVENTS, SAOP_ESCALATIONS, SAOP_LOG, SAOP_TASK_SIGNALS

_WINDOW, _SLOPE, _CEILING = 5, -0.05, 0.6
_DECLINES, _DROP = 3, 0.25
_REPEATS = 3
_DECIMALS = 9
_FIRST = 2
"""What a turn gives rise to is its verdict, its line in the log, then its escalations."""
_NOTHING: Mapping[str, Any] = {
    "session_id": None,
    "agent_id": None,
    "turn_index": None,
    "turn_indexes": [],
    "confidences": [],
    "slope": None,
    "decline": None,
    "observation_sha256": None,
    "run_length": None,
    "failures": None,
    "first_sequence": None,
    "last_sequence": None,
    "enforced": False,
}

Found = dict[str, Json]
"""Escalations by their ids."""


def check(source: Source) -> list[str]:
    signals = values_of(source, SAOP_TASK_SIGNALS)
    records = source.records(SAOP_TASK_SIGNALS)
    both = zip(records, signals, strict=True)
    failures = [(record, signal) for record, signal in both if signal["kind"] == "failures"]
    turned_back = Counter(signal["task_id"] for signal in signals if signal["kind"] == "rewound")
    escalated = values_of(source, SAOP_ESCALATIONS)
    of_tasks = [one for one in escalated if one["detector"] == "failures"]
    expected = dict(_of_signal(record, signal) for record, signal in failures)
    events = values_of(source, RTES_EVENTS)
    return [
        *_signals(events, [signal for _, signal in failures]),
        *_begun(events, signals),
        *_raised(events, escalated, signals),
        *repeated("escalation", (one["escalation_id"] for one in escalated)),
        *differences("escalation", {one["escalation_id"]: one for one in of_tasks}, expected),
        *_of_agents(values_of(source, SAOP_LOG), escalated, turned_back),
    ]


def _signals(events: Sequence[Json], signals: Sequence[Json]) -> Iterator[str]:
    """Each failure with which a count is escalated has its flag and its signal, and no other."""
    expected = {
        (event["session_id"], event["sequence"]): {
            "kind": "failures",
            "task_id": row["task_id"],
            "session_id": row["session_id"],
            "failures": row["failures"],
            "threshold": FAILURES,
            "first_sequence": row["first_failure_sequence"],
            "last_sequence": row["last_sequence"],
            "rewind_id": None,
            "enforced": False,
            "at": event["recorded_at"],
            "cause": event["cause"],
        }
        for event, row in Fold(events).reached
    }
    heard = [(one["session_id"], one["last_sequence"]) for one in signals]
    flagged = [(e["session_id"], e["sequence"]) for e in events if "escalated" in e["flags"]]
    yield from repeated("signal of failures", heard)
    yield from differences("signal of failures", dict(zip(heard, signals, strict=True)), expected)
    yield from differences("flag", dict.fromkeys(flagged), dict.fromkeys(expected))


def _begun(events: Sequence[Json], signals: Sequence[Json]) -> Iterator[str]:
    """The first transition of each task in a session has its signal, and no other has."""
    rows = Fold(events).rows.values()
    expected = Counter(_place(row) for row in rows if row["origin"] is None)
    there = Counter(_place(signal) for signal in signals if signal["kind"] == "begun")
    return differences("signal of a begun task", there, expected)


def _place(json: Json) -> tuple[str, str, int]:
    return json["session_id"], json["task_id"], json["first_sequence"]


def _raised(
    events: Sequence[Json], escalated: Sequence[Json], signals: Sequence[Json]
) -> Iterator[str]:
    """Each escalation has one event, in the session of its task or in one with the task's id."""
    raised = [event for event in events if event["payload"]["type"] == "ESCALATION_RAISED"]
    heard = [(one["event_id"], *_about(one["payload"])) for one in raised if one["origin"]]
    expected = [(one["escalation_id"], *_about(one)) for one in escalated]
    yield from differences("event of an escalation", Counter(heard), Counter(expected))
    begun = {(one["session_id"], one["task_id"]) for one in signals if one["kind"] == "begun"}
    for event in raised:
        session_id, task_id = event["session_id"], event["task_id"]
        if session_id != task_id and (session_id, task_id) not in begun:
            yield f"escalation {event['event_id']} is in session {session_id}"


def _about(json: Json) -> tuple[str, str, str]:
    return json["task_id"], json["detector"], json["outcome"]


def _of_signal(record: Record, signal: Json) -> tuple[str, Json]:
    """The escalation that a signal of failures gives rise to, and its id."""
    names = ("task_id", "session_id", "failures", "first_sequence", "last_sequence")
    ident = uuid5_url(f"headrace:{position(record)}/0")
    members = {
        "escalation_id": ident,
        "detector": "failures",
        "rules": ["failures_reached"],
        "outcome": "paused_for_intervention",
        "thresholds": {"failures": FAILURES},
        "at": iso_ms(record.timestamp),
        "cause": position(record),
    }
    return ident, {**_NOTHING, **{name: signal[name] for name in names}, **members}


def _of_agents(
    logged: Sequence[Json], escalated: Sequence[Json], turned_back: Counter[str]
) -> Iterator[str]:
    turns: defaultdict[str, list[Json]] = defaultdict(list)
    for line in logged:
        turns[line["turn"]["metadata"]["task_id"]].append(line)
    by_task: defaultdict[str, Found] = defaultdict(dict)
    for one in escalated:
        if one["detector"] != "failures":
            by_task[one["task_id"]][one["escalation_id"]] = one
    for task in turns.keys() | by_task.keys():
        expected = _watched(turns[task])
        if not turned_back[task]:
            yield from differences("escalation", by_task[task], expected)
        elif not _follows(by_task[task], turns[task], turned_back[task]):
            yield f"what is escalated of {task} does not follow from its turns"


def _watched(turns: Sequence[Json]) -> Found:
    task = _Task()
    return {ident: one for line in turns for ident, one in task.take(line).items()}


def _follows(escalations: Found, turns: Sequence[Json], max_count: int) -> bool:
    """Whether there are places, so many at most, at which the detectors can have begun anew."""
    by_cause: defaultdict[str, Found] = defaultdict(dict)
    for ident, one in escalations.items():
        by_cause[one["cause"]][ident] = one
    if not by_cause.keys() <= {line["cause"] for line in turns}:
        return False
    fewest = {0: 0}
    for start in range(len(turns)):
        count = fewest.get(start, max_count + 1)
        if count > max_count:
            continue
        task = _Task()
        for after, line in enumerate(turns[start:], start + 1):
            if task.take(line) != by_cause.get(line["cause"], {}):
                break
            fewest[after] = min(count + 1, fewest.get(after, max_count + 1))
        else:
            return True
    return not turns


class _Task:
    """The detectors of all its agents."""

    def __init__(self) -> None:
        self._agents: defaultdict[str, _Agent] = defaultdict(_Agent)

    def take(self, line: Json) -> Found:
        """What the next turn that is logged gives rise to."""
        turn, escalations = line["turn"], {}
        for number, figures in enumerate(self._agents[turn["agent_id"]].take(turn), _FIRST):
            ident = uuid5_url(f"headrace:{line['cause']}/{number}")
            members = {
                "escalation_id": ident,
                "task_id": turn["metadata"]["task_id"],
                "agent_id": turn["agent_id"],
                "turn_index": turn["turn_index"],
                "at": line["at"],
                "cause": line["cause"],
            }
            escalations[ident] = {**_NOTHING, **members, **figures}
        return escalations


class _Seen(NamedTuple):
    turn: int
    confidence: float


class _Agent:
    def __init__(self) -> None:
        self._seen: list[_Seen] = []
        self._said = ""
        self._same: list[int] = []
        self._losing = self._stuck = False

    def take(self, turn: Json) -> Iterator[Json]:
        """The figures of the episodes that the next turn begins."""
        index, observation = turn["turn_index"], turn["content"]["observation"]
        self._seen.append(_Seen(index, turn["metadata"]["confidence"]))
        lost = _lost(self._seen)
        if lost and not self._losing:
            yield lost
        self._losing = bool(lost)
        self._same = (
            [*self._same, index]
            if observation and observation == self._said
            else [index] * bool(observation)
        )
        self._said = observation
        stuck = len(self._same) >= _REPEATS
        if stuck and not self._stuck:
            yield _repeated(observation, self._same)
        self._stuck = stuck


def _lost(seen: Sequence[_Seen]) -> Json:
    """What speaks for it that an agent loses confidence, by either rule; empty if nothing does."""
    slope, decline = _slope(seen[-_WINDOW:]), _decline(seen[-_DECLINES - 1 :])
    rules: list[str] = []
    limits: dict[str, float] = {}
    if slope is not None:
        rules.append("confidence_slope")
        limits |= {"window": _WINDOW, "slope": _SLOPE, "ceiling": _CEILING}
    if decline is not None:
        rules.append("confidence_drop")
        limits |= {"declines": _DECLINES, "drop": _DROP}
    if not rules:
        return {}
    used = seen[-(_WINDOW if slope is not None else _DECLINES + 1) :]
    return {
        "detector": "confidence",
        "rules": rules,
        "outcome": "review",
        "turn_indexes": [one.turn for one in used],
        "confidences": [one.confidence for one in used],
        "slope": slope,
        "decline": decline,
        "thresholds": limits,
    }


def _slope(seen: Sequence[_Seen]) -> float | None:
    """None unless its rule holds."""
    if len(seen) < _WINDOW or seen[-1].confidence > _CEILING:
        return None
    c0, c1, _, c3, c4 = (one.confidence for one in seen)
    slope = round((-2 * c0 - c1 + c3 + 2 * c4) / 10, _DECIMALS)
    return slope if slope <= _SLOPE else None


def _decline(seen: Sequence[_Seen]) -> float | None:
    """None unless its rule holds."""
    if len(seen) <= _DECLINES:
        return None
    steps = pairwise(one.confidence for one in seen)
    if any(round(before - after, _DECIMALS) <= 0 for before, after in steps):
        return None
    decline = round(seen[0].confidence - seen[-1].confidence, _DECIMALS)
    return decline if decline >= _DROP else None


def _repeated(observation: str, run: Sequence[int]) -> Json:
    return {
        "detector": "repetition",
        "rules": ["observation_repeated"],
        "outcome": "strategy_pivot",
        "turn_indexes": list(run[-_REPEATS:]),
        "observation_sha256": sha256(observation.encode()).hexdigest(),
        "run_length": len(run),
        "thresholds": {"repeats": _REPEATS},
    }
