"""Transitions of a task, recorded if they start from the task's present state.

Which vocabulary a task's states are spelled in, its profile, is fixed by its first transition.

`check_transition` is the table of checks, first match decides:

| # | condition | result |
|---|---|---|
| 1 | another protocol's processor reports it | recorded; `discontinuity` if it jumps |
| 2 | the service holds a pause of the task | `task_paused` |
| 2 | the task is in another state than it leaves | `from_state_mismatch` |
| 3 | the task's profile is `open` | recorded |
| 4 | a first transition, both names unknown to the profile | recorded under `open`, flagged |
| 5 | a name is unknown to the profile | `unknown_state` |
| 6 | the profile has no such edge | `illegal_transition` |
| 7 | the edge is guarded, no commit comes with it, no rewind since the last | `rewind_required` |
| 8 | else | recorded |

`evolve` is the fold that makes a task's row from its records, those of rewinds among them, and
needs nothing else.

Source: SAOP guide, 4.2 and 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from schemas.rtes import rules
from schemas.rules import Rule
from streams.errors import SettingsError
from streams.protocols.saop.rtes.event import Refusal
from streams.protocols.saop.settings import TASK_PROFILES
from topology.machines.task_profiles import OPEN, PROFILES, PROTOCOLS, Guard, Profile

Row = dict[str, Any]

COMMITS = 64
"""Maximum latest commits of a task in its row."""


class LegalTransition(NamedTuple):
    """A transition to be recorded.  States have the spelling of the profile."""

    rule: Rule
    profile: Profile
    from_state: str
    to_state: str
    flags: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def profiles_by_prefix(text: str) -> tuple[tuple[str, Profile], ...]:
    """Return `prefix=profile,…` as pairs, the longest prefix first.  Raises SettingsError."""
    pairs = []
    for entry in filter(None, text.split(",")):
        prefix, equals, name = entry.rpartition("=")
        if not equals:
            raise SettingsError(f"HEADRACE_RTES_PROFILES is prefix=profile,…, not {entry!r}")
        pairs.append((prefix, profile_by_name(name)))
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


def profile_by_name(name: str) -> Profile:
    """Return a profile that a setting may name.  Raises SettingsError."""
    if name not in TASK_PROFILES:
        raise SettingsError(f"a task profile is one of {', '.join(TASK_PROFILES)}, not {name!r}")
    return PROFILES[name]


def profile_of(
    task_id: str, origin: str | None, row: Mapping[str, Any] | None, settings: Mapping[str, Any]
) -> Profile:
    """Return the profile of a task: its row's, else the one for its first transition."""
    return first_profile(task_id, origin, settings) if row is None else PROFILES[row["profile"]]


def first_profile(task_id: str, origin: str | None, settings: Mapping[str, Any]) -> Profile:
    """Return the origin's profile, else that of the task id's longest prefix, else the default."""
    if origin is not None:
        return PROTOCOLS[origin]
    for prefix, profile in profiles_by_prefix(settings["RTES_PROFILES"]):
        if task_id.startswith(prefix):
            return profile
    return profile_by_name(settings["RTES_PROFILE"])


def current_row(row: Row | None, origin: str | None) -> Row | None:
    """Return the row that a transition starts from.

    An agent may name its task as another protocol's tasks are named (`apc:…`).  That protocol's
    processor does not continue such a row but replaces it by its own.
    """
    if row is not None and origin is not None and row["origin"] != origin:
        return None
    return row


def check_transition(
    transition: Mapping[str, Any],
    origin: str | None,
    row: Row | None,
    profile: Profile,
    last_rewind: int = 0,
) -> LegalTransition | Refusal:
    """Apply the table of checks.

    transition: TaskTransition.  row: the task's SaopTask so far.  profile: the task's, or the
    one that its first transition gives it.  last_rewind: the last sequence that a rewind of the
    session was given, 0 for none.
    """
    source = profile.normalise(transition["from_state"])
    target = profile.normalise(transition["to_state"])
    is_elsewhere = row is not None and row["state"] != source
    if origin is not None:
        flags = ("discontinuity",) if is_elsewhere else ()
        return LegalTransition(rules.OTHER_PROTOCOL, profile, source, target, flags)
    if row is not None and row["pause"] is not None:
        pause = row["pause"]
        evidence = {"state": row["state"], "by": pause["by"], "sequence": pause["sequence"]}
        return Refusal(rules.TASK_PAUSED, evidence, "/payload/task_id")
    if row is not None and is_elsewhere:
        evidence = {"state": row["state"], "from_state": transition["from_state"]}
        return Refusal(rules.FROM_STATE_MISMATCH, evidence, "/payload/from_state")
    if profile is OPEN:
        return LegalTransition(rules.OPEN_PROFILE, OPEN, source, target)
    result = _by_edges(transition, source, target, row, profile)
    is_guarded = profile.guard(source, target) is Guard.REWIND_REQUIRED
    if isinstance(result, LegalTransition) and is_guarded:
        rewound = row is not None and last_rewind > row["last_sequence"]
        if not transition["git_hash"] and not rewound:
            evidence = _evidence(source, target, profile)
            return Refusal(rules.REWIND_REQUIRED, evidence, "/payload/git_hash")
    return result


def _evidence(source: str, target: str, profile: Profile) -> Row:
    return {"state": source, "to_state": target, "allowed": profile.targets(source)}


def _by_edges(
    transition: Mapping[str, Any], source: str, target: str, row: Row | None, profile: Profile
) -> LegalTransition | Refusal:
    unknown = [
        name
        for name in ("from_state", "to_state")
        if profile.normalise(transition[name]) not in profile.states
    ]
    if row is None and len(unknown) == 2:
        flags = ("unknown_states",)
        first, second = transition["from_state"], transition["to_state"]
        return LegalTransition(
            rules.OPEN_PROFILE, OPEN, OPEN.normalise(first), OPEN.normalise(second), flags
        )
    if unknown:
        evidence = {"unknown": transition[unknown[0]], "profile": profile.name}
        return Refusal(rules.UNKNOWN_STATE, evidence, f"/payload/{unknown[0]}")
    if not profile.is_edge(source, target):
        evidence = _evidence(source, target, profile)
        return Refusal(rules.ILLEGAL_TRANSITION, evidence, "/payload/to_state")
    return LegalTransition(rules.EDGE, profile, source, target)


class Failures(NamedTuple):
    """Counts how often a task failed since the count was last cleared; `first` is a sequence."""

    total: int = 0
    first: int | None = None
    escalated: bool = False


def failures_before(row: Row | None, profile: Profile, source: str, target: str) -> Failures:
    """Return the count that a transition adds to; leaving a pause and being done clear it first."""
    if row is None or target in profile.done:
        return Failures()
    if source in profile.paused and target not in profile.paused:
        return Failures()
    return Failures(row["failures"], row["first_failure_sequence"], row["failures_escalated"])


def escalates(row: Row | None, transition: LegalTransition, limit: int) -> bool:
    """Return whether this transition is the failure with which the count reaches its limit."""
    if transition.to_state not in transition.profile.failure:
        return False
    source = transition.from_state if row is None else row["state"]
    before = failures_before(row, transition.profile, source, transition.to_state)
    return before.total + 1 >= limit and not before.escalated


def evolve(row: Row | None, record: Mapping[str, Any]) -> Row:
    """Return the SaopTask row after one more RtesRecord (Avro values) of the task."""
    _, transition = record["payload"]
    sequence, at = record["sequence"], record["recorded_at"]
    row = current_row(row, record["origin"])
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
    after["pause"] = _pause_after(after, record)
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


def _pause_after(row: Row, record: Mapping[str, Any]) -> Row | None:
    """Return the pause that the service holds; a resumption and a rewind end it."""
    if record["rule"] in (rules.RESUMED.code, rules.REWIND.code):
        return None
    if record["rule"] != rules.PAUSED.code:
        pause: Row | None = row["pause"]
        return pause
    return {
        "by": "failures" if record["control_id"] is None else "operator",
        "control_id": record["control_id"],
        "sequence": record["sequence"],
        "at": record["recorded_at"],
    }


def _turned_back(row: Row, git_hash: str | None) -> Row:
    """Return the head that a rewind's target goes back to; tasks set back with it keep theirs."""
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
        "pause": None,
    }
