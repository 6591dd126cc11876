"""The detectors compared with a second opinion that looks at the whole history every time."""

from __future__ import annotations

from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.protocols.saop.processor.detectors import DetectorState, Thresholds, observe
from streams.settings import Settings
from tests.examples import example_count
from tests.unit.protocols.saop.processor.support import Bench, envelope, signal

LIMITS = Thresholds.of(Settings.load({}).as_work())
Story = list[tuple[str, float, str]]
"""Of each turn: agent (or `rewound`), confidence, observation."""


def second_opinion(story: Story) -> list[tuple[int, list[str]]]:
    """Every escalation, each found by looking at the agent's whole history again."""
    escalations = []
    for place, (agent, _, _) in enumerate(story):
        if agent == "rewound":
            continue
        begin = max([n + 1 for n in range(place) if story[n][0] == "rewound"], default=0)
        turns = [turn for turn in story[begin : place + 1] if turn[0] == agent]
        for condition in (lost_confidence, repeats):
            if condition(turns) and not condition(turns[:-1]):
                escalations.append((place, condition(turns)))
    return escalations


def lost_confidence(turns: Story) -> list[str]:
    seen = [confidence for _, confidence, _ in turns]
    rules = []
    if len(seen) >= 5:
        a, b, _, d, e = seen[-5:]
        if round((-2 * a - b + d + 2 * e) / 10, 9) <= -0.05 and e <= 0.6:
            rules.append("confidence_slope")
    if len(seen) >= 4:
        a, b, c, d = seen[-4:]
        falls = [round(a - b, 9), round(b - c, 9), round(c - d, 9)]
        if min(falls) > 0 and round(a - d, 9) >= 0.25:
            rules.append("confidence_drop")
    return rules


def repeats(turns: Story) -> list[str]:
    seen = [observation for _, _, observation in turns[-3:]]
    same = len(seen) == 3 and len({*seen}) == 1 and seen[0] != ""
    return ["observation_repeated"] if same else []


CONFIDENCES = st.sampled_from([n / 20 for n in range(21)]) | st.floats(0, 1)
TURNS = st.tuples(
    st.sampled_from(["developer", "developer", "developer", "reviewer", "rewound"]),
    CONFIDENCES,
    st.sampled_from(["", "a", "a", "a", "b"]),
)


def falling() -> st.SearchStrategy[Story]:
    """Stretches in which confidence goes down as the rules have it, or nearly so."""
    steps = st.lists(st.sampled_from([0.0, 0.05, 0.05, 0.08, 0.1]), min_size=1, max_size=8)
    return steps.map(
        lambda steps: [
            ("developer", max(0.0, 0.9 - sum(steps[:n])), f"o{n}") for n in range(len(steps) + 1)
        ]
    )


STORIES = st.lists(st.lists(TURNS, max_size=8) | falling(), max_size=5).map(
    lambda parts: [turn for part in parts for turn in part]
)


@settings(max_examples=example_count(100), deadline=None)
@given(STORIES, st.integers(1, 3))
def test_each_episode_is_reported_once(story: Story, stride: int) -> None:
    bench = Bench(saop_max_ahead=10)
    messages, places, indexes = [], {}, count(0, stride)
    for place, (agent, confidence, observation) in enumerate(story):
        if agent == "rewound":
            messages.append(bench.signal(signal("rewound")))
            continue
        index = next(indexes)
        for missing in range(max(0, index - stride + 1), index):
            filler = envelope(missing, agent_id="architect", observation="")
            messages.append(bench.turn(filler))
        places[index] = place
        turn = envelope(index, agent_id=agent, confidence=confidence, observation=observation)
        messages.append(bench.turn(turn))
    bench.decide(*messages)
    escalations = [
        (places[one["turn_index"]], one["rules"])
        for one in bench.escalations()
        if one["agent_id"] != "architect"
    ]
    assert escalations == second_opinion(story)


@given(st.lists(st.tuples(CONFIDENCES, st.sampled_from(["", "a", "b"])), max_size=30))
def test_what_is_remembered_is_bounded(turns: list[tuple[float, str]]) -> None:
    watch = DetectorState()
    for index, (confidence, observation) in enumerate(turns):
        watch, _ = observe(watch, index, confidence, observation, LIMITS)
    assert len(watch.window) == min(len(turns), 5)
    assert len(watch.run) == min(watch.run_length, 3)
