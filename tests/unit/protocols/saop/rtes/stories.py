"""What sessions send, for properties: events of all types, with faults, and rewinds among them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from streams.engine.processor import AvroValue
from tests.unit.protocols.saop.rtes.support import (
    completed,
    invoked,
    pulse,
    rewind,
    thought,
    transition,
)

STATES = ["PENDING", "IN_PROGRESS", "PAUSED", "FAILED", "COMPLETED", "odd", "Running"]
SESSIONS = ["s1", "s/2%", ""]
TASKS = {"t1": "PENDING", "apc:t1": "PENDING", "t/1": "odd"}
GIT = [None, None, "", "5c0ffee", "5c0ffee1", "abc1234", "v1"]
LINES = ["ok", "password=hunter2hunter2", "-----BEGIN PRIVATE KEY-----", "Zm9vYmFyYmF6cXV4"]

Story = list[AvroValue]


def is_command(value: AvroValue) -> bool:
    return "phase" in value


@st.composite
def _move(draw: st.DrawFn, n: int, here: dict[str, str]) -> AvroValue:
    """Mostly a walk of three tasks from where they stand."""
    task, target = draw(st.sampled_from(sorted(here))), draw(st.sampled_from(STATES))
    slip = draw(st.integers(0, 5)) == 0
    source = draw(st.sampled_from(STATES)) if slip else here[task]
    origin = "apc" if draw(st.integers(0, 7)) == 0 else None
    here[task] = target
    git = draw(st.sampled_from(GIT))
    return transition(n, source, target, task=task, git=git, origin=origin)


@st.composite
def _other(draw: st.DrawFn, n: int) -> AvroValue:
    """An event about a few calls and streams, or a line of output."""
    origin = draw(st.sampled_from([None, None, None, "sap"]))
    call: dict[str, Any] = {"call_id": draw(st.sampled_from(["c1", "c/2"])), "origin": origin}
    chunk: dict[str, Any] = {"turn_index": draw(st.integers(0, 1)), "is_final": draw(st.booleans())}
    return draw(
        st.sampled_from(
            [
                invoked(n, '{"token":"hunter2hunter2"}', **call),
                completed(n, **call),
                completed(n, **call, tool="grep"),
                thought(n, origin=origin, **chunk),
                pulse(n, draw(st.sampled_from(LINES)), origin=origin),
            ]
        )
    )


@st.composite
def _command(draw: st.DrawFn, n: int) -> AvroValue:
    phase = draw(st.sampled_from(["prepare", "confirm", "apply", "abort"]))
    target: dict[str, Any] = {}
    if phase in ("prepare", "apply"):
        by_task = draw(st.booleans())
        target = {"task": "t1"} if by_task else {"git": draw(st.sampled_from(GIT[3:]))}
    return rewind(n + draw(st.integers(0, 1)), phase, **target)


@st.composite
def story(draw: st.DrawFn, session: str, base: int) -> Story:
    events: Story = []
    here = dict(TASKS)
    for n in range(base, base + draw(st.integers(0, 25))):
        kind = draw(st.integers(0, 9))
        if kind < 5:
            value = draw(_move(n, here))
        elif kind < 9:
            value = draw(_other(n))
        else:
            value = draw(_command(base))
            here["t1"] = "IN_PROGRESS"
        events.append(value | {"session_id": session})
    return events


@st.composite
def stories(draw: st.DrawFn) -> dict[str, Story]:
    return {session: draw(story(session, 1000 * n)) for n, session in enumerate(SESSIONS)}


@st.composite
def interleavings(draw: st.DrawFn, by_session: dict[str, Story]) -> Story:
    """The stories told at once, each in its own order, all sent again at any later place."""
    remaining = {session: list(story) for session, story in by_session.items() if story}
    line: Story = []
    while remaining:
        session = draw(st.sampled_from(sorted(remaining)))
        line.append(remaining[session].pop(0))
        if not remaining[session]:
            del remaining[session]
        if draw(st.integers(0, 3)) == 0:
            line.append(line[draw(st.integers(0, len(line) - 1))])
    return line
