"""The Entropy Detector: whether an agent loses confidence or repeats itself.

Its functions are pure.  A `DetectorState` is the state of one agent in one task; `observe` takes
the agent's next logged turn.  An episode is reported once, when a detector's condition becomes
true.  Sums and differences are rounded to 9 decimals before they are compared, so that
binary fractions decide nothing.

Source: SAOP guide, 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from schemas import sha256_hex
from schemas.rules import Rule
from schemas.saop import rules
from streams.engine.processor import AvroValue

CONFIDENCE, REPETITION, FAILURES = "confidence", "repetition", "failures"
OUTCOMES: Mapping[str, str] = {
    CONFIDENCE: "review",
    REPETITION: "strategy_pivot",
    FAILURES: "paused_for_intervention",
}
"""The action that each detector requests."""

_DECIMALS = 9


class Observation(NamedTuple):
    turn_index: int
    confidence: float


class DetectorState(NamedTuple):
    """The state of one agent's logged turns in one task.

    window: the latest turns, as many as the wider rule needs.  run: the latest turns of the current
    run of equal observations, as many as make an episode; run_length: the length of that run.
    confidence_open, repetition_open: the episode is open and has been reported.
    """

    window: tuple[Observation, ...] = ()
    confidence_open: bool = False
    observation_sha256: str | None = None
    run: tuple[int, ...] = ()
    run_length: int = 0
    repetition_open: bool = False


class Thresholds(NamedTuple):
    """The settings of 6.7 for the detectors of turns."""

    window: int
    slope: float
    ceiling: float
    declines: int
    drop: float
    repeats: int

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Thresholds:
        confidence = "SAOP_CONFIDENCE_"
        return cls(
            settings[confidence + "WINDOW"],
            float(settings[confidence + "SLOPE"]),
            float(settings[confidence + "CEILING"]),
            settings[confidence + "DECLINES"],
            float(settings[confidence + "DROP"]),
            settings["SAOP_REPEATS"],
        )


class Episode(NamedTuple):
    """An episode that begins.  thresholds: those that its rules went by, by name."""

    detector: str
    rules: tuple[Rule, ...]
    turn_indexes: tuple[int, ...]
    thresholds: Mapping[str, float]
    confidences: tuple[float, ...] = ()
    slope: float | None = None
    decline: float | None = None
    observation_sha256: str | None = None
    run_length: int | None = None


def observe(
    state: DetectorState, turn_index: int, confidence: float, observation: str, limits: Thresholds
) -> tuple[DetectorState, list[Episode]]:
    """Take the agent's next logged turn: what is remembered then, and what begins."""
    size = max(limits.window, limits.declines + 1)
    window = (*state.window, Observation(turn_index, confidence))[-size:]
    confidence_episode = _confidence(window, limits)
    digest, run, length = _run(state, turn_index, observation, limits)
    stuck = length >= limits.repeats
    episodes = []
    if confidence_episode is not None and not state.confidence_open:
        episodes.append(confidence_episode)
    if stuck and not state.repetition_open:
        episodes.append(_repetition(digest, run, length, limits))
    is_open = confidence_episode is not None
    return DetectorState(window, is_open, digest, run, length, stuck), episodes


def slope_of(confidences: Sequence[float]) -> float:
    """Return the least-squares slope per turn, rounded; of at least two turns."""
    last = len(confidences) - 1
    weights = [2 * x - last for x in range(len(confidences))]
    total = 0.0
    for weight, confidence in zip(weights, confidences, strict=True):
        total += weight * confidence
    return round(2 * total / sum(weight * weight for weight in weights), _DECIMALS)


def decline_of(confidences: Sequence[float]) -> float | None:
    """Return how far they fell in total, rounded; None unless each step goes down."""
    steps = pairwise(confidences)
    if not all(round(before - after, _DECIMALS) > 0 for before, after in steps):
        return None
    return round(confidences[0] - confidences[-1], _DECIMALS)


def _confidence(window: tuple[Observation, ...], limits: Thresholds) -> Episode | None:
    slope = _slope(window[-limits.window :], limits)
    decline = _decline(window[-limits.declines - 1 :], limits)
    reasons: list[Rule] = []
    used: dict[str, float] = {}
    wide = 0
    if slope is not None:
        reasons.append(rules.CONFIDENCE_SLOPE)
        used |= {"window": limits.window, "slope": limits.slope, "ceiling": limits.ceiling}
        wide = limits.window
    if decline is not None:
        reasons.append(rules.CONFIDENCE_DROP)
        used |= {"declines": limits.declines, "drop": limits.drop}
        wide = max(wide, limits.declines + 1)
    if not reasons:
        return None
    turns = window[-wide:]
    indexes = tuple(turn.turn_index for turn in turns)
    confidences = tuple(turn.confidence for turn in turns)
    return Episode(CONFIDENCE, tuple(reasons), indexes, used, confidences, slope, decline)


def _slope(window: tuple[Observation, ...], limits: Thresholds) -> float | None:
    """Return the slope, if the first rule applies."""
    if len(window) < limits.window or window[-1].confidence > limits.ceiling:
        return None
    slope = slope_of([turn.confidence for turn in window])
    return slope if slope <= limits.slope else None


def _decline(window: tuple[Observation, ...], limits: Thresholds) -> float | None:
    """Return the decline, if the second rule applies."""
    if len(window) <= limits.declines:
        return None
    decline = decline_of([turn.confidence for turn in window])
    return decline if decline is not None and decline >= limits.drop else None


def _run(
    state: DetectorState, turn_index: int, observation: str, limits: Thresholds
) -> tuple[str | None, tuple[int, ...], int]:
    """Return the run of equal observations that the turn goes on with, or begins."""
    if not observation:
        return None, (), 0
    digest = sha256_hex(observation.encode())
    if digest != state.observation_sha256:
        return digest, (turn_index,), 1
    return digest, (*state.run, turn_index)[-limits.repeats :], state.run_length + 1


def _repetition(
    digest: str | None, run: tuple[int, ...], length: int, limits: Thresholds
) -> Episode:
    return Episode(
        REPETITION,
        (rules.OBSERVATION_REPEATED,),
        run,
        {"repeats": limits.repeats},
        observation_sha256=digest,
        run_length=length,
    )


def state_of(row: AvroValue | None) -> DetectorState:
    """Return the state in a SaopDetectors row; an agent without one is new."""
    if row is None:
        return DetectorState()
    return DetectorState(
        tuple(Observation(turn["turn_index"], turn["confidence"]) for turn in row["window"]),
        row["confidence_open"],
        row["observation_sha256"],
        tuple(row["run"]),
        row["run_length"],
        row["repetition_open"],
    )


def state_row(state: DetectorState) -> AvroValue:
    return {
        "window": [{"turn_index": n, "confidence": c} for n, c in state.window],
        "confidence_open": state.confidence_open,
        "observation_sha256": state.observation_sha256,
        "run": list(state.run),
        "run_length": state.run_length,
        "repetition_open": state.repetition_open,
    }
