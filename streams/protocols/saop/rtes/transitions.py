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
| 7 | the edge is guarded, no commit comes with it, no rewind since the last | `rewind_required` |
| 8 | else | recorded |

`evolve` is the fold that makes a task's row from its records, those of rewinds among them, and
needs nothing else.

Source: SAOP/RTES spec, 4.2 and 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas.rtes import rules
from schemas.rules import Rule
from streams.protocols.saop.rtes.rejections import Refusal
from topology.machines.task_profiles import OPEN, PROFILES, Guard, Profile

Row = dict[str, Any]

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
    transition: Mapping[str, Any],
    origin: str | None,
    row: Row | None,
    profile: Profile,
    last_rewind: int = 0,
) -> Recorded | Refusal:
    """The table of checks.

    transition: TaskTransition.  row: the task's SaopTask so far.  profile: the task's, or the
    one that its first transition gives it.  last_rewind: the last sequence that a rewind of the
    session was given, 0 for none.
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
    found = _by_edges(transition, source, target, row, profile)
    if isinstance(found, Recorded) and profile.guard(source, target) is Guard.REWIND_REQUIRED:
        rewound = row is not None and last_rewind > row["last_sequence"]
        if not transition["git_hash"] and not rewound:
            figures = _figures(source, target, profile)
            return Refusal(rules.REWIND_REQUIRED, figures, "/payload/git_hash")
    return found


def _figures(source: str, target: str, profile: Profile) -> Row:
    return {"state": source, "to_state": target, "allowed": profile.targets(source)}


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
    if not profile.is_edge(source, target):
        figures = _figures(source, target, profile)
        return Refusal(rules.ILLEGAL_TRANSITION, figures, "/payload/to_state")
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


def escalates(row: Row | None, recorded: Recorded, limit: int) -> bool:
    """Whether this transition is the failure with which the count reaches its limit."""
    if recorded.to_state not in recorded.profile.failure:
        return False
    source = recorded.from_state if row is None else row["state"]
    before = failures_before(row, recorded.profile, source, recorded.to_state)
    return before.total + 1 >= limit and not before.escalated


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
    if record["rule"] == rules.REWIND.code:
        return after | _turned_back(after, git_hash) | {"rewind_id": record["rewind_id"]}
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


def _turned_back(row: Row, git_hash: str | None) -> Row:
    """The head that a rewind's target goes back to; what is set back with it keeps its own."""
    if not git_hash:
        return {}
    known = [c["sequence"] for c in row["commits"] if c["git_hash"] == git_hash]
    return {"head_hash": git_hash, "head_sequence": known[-1] if known else row["head_sequence"]}


def _failures_after(row: Row | None, record: Mapping[str, Any]) -> Failures:
    _, transition = record["payload"]
    if record["rule"] == rules.REWIND.code:
        return Failures()
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
