"""A transition of a task is recorded when it goes on from where the task stands.

`judge` is the table of checks, first match decides:

| # | condition | result |
|---|---|---|
| 1 | another protocol's processor reports it | recorded; `discontinuity` if it jumps |
| 2 | the task stands in another state than it leaves | `from_state_mismatch` |
| 3 | the task's profile is `open` | recorded |
| 4 | a first transition, both names unknown to the profile | recorded under `open`, flagged |
| 5 | a name is unknown to the profile | `unknown_state` |
| 6 | the profile has no such edge | `illegal_transition` |
| 7 | the edge is guarded, and no commit comes with the transition | `rewind_required` |
| 8 | else | recorded |

`evolve` is the fold that makes a task's row from its records, and needs nothing else.

Source: SAOP/RTES spec, 4.2 and 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas.rtes import rules
from schemas.rules import Rule
from streams.processors.rtes.rejections import Refusal
from topology.machines.task_profiles import OPEN, PROFILES, Guard, Profile

Row = dict[str, Any]

FAILURES = 5
"""Transitions to a failure state, since the count was last cleared, that are escalated."""
COMMITS = 64
"""The latest commits of a task that its row keeps."""


class Recorded(NamedTuple):
    """A transition that stands.  States are spelled as the profile keeps them."""

    rule: Rule
    profile: Profile
    from_state: str
    to_state: str
    flags: tuple[str, ...] = ()


def standing(row: Row | None, origin: str | None) -> Row | None:
    """The row that a transition goes on from.

    An agent may name its task as another protocol's tasks are named (`apc:…`).  That protocol's
    processor does not go on from such a row but starts its own in its place.
    """
    if row is not None and origin is not None and row["origin"] != origin:
        return None
    return row


def judge(
    transition: Mapping[str, Any], origin: str | None, row: Row | None, profile: Profile
) -> Recorded | Refusal:
    """The table of checks.

    transition: TaskTransition.  row: the task's SaopTask so far.  profile: the task's, or the
    one that its first transition gives it.
    """
    source = profile.normalise(transition["from_state"])
    target = profile.normalise(transition["to_state"])
    moved = row is not None and row["state"] != source
    if origin is not None:
        flags = ("discontinuity",) if moved else ()
        return Recorded(rules.OTHER_PROTOCOL, profile, source, target, flags)
    if row is not None and moved:
        figures = {"state": row["state"], "from_state": transition["from_state"]}
        return Refusal(rules.FROM_STATE_MISMATCH, figures, "/payload/from_state")
    if profile is OPEN:
        return Recorded(rules.OPEN_PROFILE, OPEN, source, target)
    return _by_edges(transition, source, target, row, profile)


def _by_edges(
    transition: Mapping[str, Any], source: str, target: str, row: Row | None, profile: Profile
) -> Recorded | Refusal:
    unknown = [
        name
        for name in ("from_state", "to_state")
        if profile.normalise(transition[name]) not in profile.states
    ]
    if row is None and len(unknown) == 2:
        flags = ("unknown_states",)
        first, second = transition["from_state"], transition["to_state"]
        return Recorded(
            rules.OPEN_PROFILE, OPEN, OPEN.normalise(first), OPEN.normalise(second), flags
        )
    if unknown:
        figures = {"unknown": transition[unknown[0]], "profile": profile.name}
        return Refusal(rules.UNKNOWN_STATE, figures, f"/payload/{unknown[0]}")
    figures = {"state": source, "to_state": target, "allowed": profile.targets(source)}
    if not profile.is_edge(source, target):
        return Refusal(rules.ILLEGAL_TRANSITION, figures, "/payload/to_state")
    guarded = profile.guard(source, target) is Guard.REWIND_REQUIRED
    if guarded and not transition["git_hash"]:
        return Refusal(rules.REWIND_REQUIRED, figures, "/payload/git_hash")
    return Recorded(rules.EDGE, profile, source, target)


class Failures(NamedTuple):
    """How often a task failed since the count was last cleared; `first` is a sequence."""

    total: int = 0
    first: int | None = None
    escalated: bool = False


def failures_before(row: Row | None, profile: Profile, source: str, target: str) -> Failures:
    """The count that a transition adds to: leaving a pause and being done each clear it first."""
    if row is None or target in profile.done:
        return Failures()
    if source in profile.paused and target not in profile.paused:
        return Failures()
    return Failures(row["failures"], row["first_failure_sequence"], row["failures_escalated"])


def escalates(row: Row | None, recorded: Recorded) -> bool:
    """Whether this transition is the failure with which the count reaches its limit."""
    if recorded.to_state not in recorded.profile.failure:
        return False
    source = recorded.from_state if row is None else row["state"]
    before = failures_before(row, recorded.profile, source, recorded.to_state)
    return before.total + 1 >= FAILURES and not before.escalated


def evolve(row: Row | None, record: Mapping[str, Any]) -> Row:
    """The SaopTask row after one more RtesRecord (Avro values) of the task."""
    _, transition = record["payload"]
    sequence, at = record["sequence"], record["recorded_at"]
    row = standing(row, record["origin"])
    failures = _failures_after(row, record)
    after: Row = dict(row) if row else _first(record)
    after |= {
        "previous_state": transition["from_state"],
        "state": transition["to_state"],
        "transitions": after["transitions"] + 1,
        "failures": failures.total,
        "first_failure_sequence": failures.first,
        "failures_escalated": failures.escalated,
        "last_sequence": sequence,
        "last_at": at,
    }
    git_hash = transition["git_hash"]
    if git_hash:
        commit = {
            "git_hash": git_hash,
            "sequence": sequence,
            "to_state": transition["to_state"],
            "at": at,
        }
        after |= {"head_hash": git_hash, "head_sequence": sequence}
        after["commits"] = [*after["commits"], commit][-COMMITS:]
    return after


def _failures_after(row: Row | None, record: Mapping[str, Any]) -> Failures:
    _, transition = record["payload"]
    profile, target = PROFILES[record["profile"]], transition["to_state"]
    source = transition["from_state"] if row is None else row["state"]
    before = failures_before(row, profile, source, target)
    if target not in profile.failure:
        return before
    first = record["sequence"] if before.first is None else before.first
    return Failures(before.total + 1, first, before.escalated or "escalated" in record["flags"])


def _first(record: Mapping[str, Any]) -> Row:
    return {
        "session_id": record["session_id"],
        "task_id": record["task_id"],
        "origin": record["origin"],
        "profile": record["profile"],
        "head_hash": None,
        "head_sequence": None,
        "commits": [],
        "transitions": 0,
        "first_sequence": record["sequence"],
        "first_at": record["recorded_at"],
        "rewind_id": None,
    }
