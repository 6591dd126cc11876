"""Faults that are put into what a run of Summit has left, to show that the checker finds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tests.e2e import checker_summit, summit_losses
from tests.e2e.outputs import Json
from tests.e2e.spoiling import Facts, Fault, Spoiled, again, common, spoiled
from tests.e2e.summit_history import Logged
from topology.summit import (
    SUMMIT_CALLS,
    SUMMIT_CALLS_DLQ,
    SUMMIT_EVENTS,
    SUMMIT_REPLIES,
    SUMMIT_REPLIES_DLQ,
)

OTHER = "0" * 64
FACTS = Facts(SUMMIT_EVENTS, "eventId", SUMMIT_CALLS)
ANSWERS = Spoiled(
    FACTS,
    missing="run.terminal",
    twice="reply.duplicate",
    another="run.unknown",
    unknown="run.unknown",
    letter_twice=SUMMIT_CALLS_DLQ,
    letter_missing=SUMMIT_REPLIES_DLQ,
)


def _out_of_turn(found: Logged) -> None:
    facts = found.of(SUMMIT_EVENTS)
    second = FACTS.first(found, "judge.already")
    first = next(
        entry
        for entry in facts
        if entry.key == second.key and entry.value["rule"] == "reply.verification"
    )
    n, m = facts.index(first), facts.index(second)
    facts[n], facts[m] = facts[m], facts[n]


def _illegal_step(found: Logged) -> None:
    fact = next(e.value for e in FACTS.by(found, "reply.progress") if "toState" in e.value)
    fact["toState"] = "completed"


def _version_skipped(found: Logged) -> None:
    FACTS.first(found, "reply.progress").value["runVersion"] += 1


def _wrongly_refused(found: Logged) -> None:
    fact = FACTS.first(found, "reply.progress").value
    fact |= {"verdict": "rejected", "rule": "reply.agent", "fault": "sender"}


def _wrongly_accepted(found: Logged) -> None:
    fact = FACTS.first(found, "judge.not_completed").value
    fact |= {"verdict": "accepted", "rule": "reply.verification"}


def _overspent_unseen(found: Logged) -> None:
    FACTS.first(found, "budget.usd").value["rule"] = "reply.result"


def _refused_with_effect(found: Logged) -> None:
    fact = FACTS.first(found, "run.conflict").value
    fact |= {"fromState": "none", "toState": "queued"}


def _other_hash(found: Logged) -> None:
    FACTS.first(found, "reply.result").value["contentHash"] = OTHER


def _other_inputs(found: Logged) -> None:
    del FACTS.first(found, "call.accepted").value["inputs"]["top"]


def _output_of_another(found: Logged) -> None:
    FACTS.first(found, "reply.result").value["output"] = {"words": 3}


def _output_not_withheld(found: Logged) -> None:
    FACTS.first(found, "output.schema").value["output"] = {"words": "two"}


def _error_unnamed(found: Logged) -> None:
    FACTS.first(found, "inputs.schema").value["errors"].pop()


def _late_cost_lost(found: Logged) -> None:
    late = FACTS.by(found, "run.terminal")
    next(entry.value for entry in late if entry.value["figures"])["figures"].clear()


def _timer_at_another_time(found: Logged) -> None:
    FACTS.first(found, "run.timeout").value["at"] += 1


def _timer_twice(found: Logged) -> None:
    again(found, SUMMIT_EVENTS, FACTS.first(found, "budget.seconds"), eventId="another")


def _never_timed_out(found: Logged) -> None:
    last = {entry.key: entry for entry in found.of(SUMMIT_EVENTS)}
    timers = FACTS.by(found, "budget.seconds")
    found.of(SUMMIT_EVENTS).remove(next(entry for entry in timers if last[entry.key] is entry))


def _overdue_unseen(found: Logged) -> None:
    """A late reply is decided as if it had come in time."""
    facts = found.of(SUMMIT_EVENTS)
    replies = {entry.place for entry in found.of(SUMMIT_REPLIES)}
    timers = FACTS.by(found, "budget.seconds")
    facts.remove(next(entry for entry in timers if entry.value["cause"] in replies))


def _stale(found: Logged) -> None:
    """A call is judged by the agents as they were before what its sender had read."""
    calls = {entry.place: entry.value["params"] for entry in found.of(SUMMIT_CALLS) if entry.json}
    accepted = [entry.value for entry in FACTS.by(found, "manifest.accepted")]
    first: dict[str, Json] = {}
    for fact in accepted:
        first.setdefault(fact["agentId"], fact)
    times = Counter(fact["manifestHash"] for fact in accepted)
    later = {fact["cause"] for fact in accepted} - {fact["cause"] for fact in first.values()}
    for entry in FACTS.by(found, "call.accepted"):
        after = calls[entry.value["cause"]]["context"].get("after")
        known = first[entry.value["agentId"]]
        if after in later and times[known["manifestHash"]] == 1:
            fact = entry.value
            fact |= {name: known[name] for name in ("manifestHash", "manifestVersion")}
            return
    raise AssertionError("all agents are as they were")


def _seen_nothing(found: Logged) -> None:
    del FACTS.first(found, "agent.unknown").value["agentsSeen"]


def _seen_more(found: Logged) -> None:
    fact = FACTS.first(found, "agent.withdrawn").value
    fact["agentsSeen"] = [0 for _ in fact["agentsSeen"]]


def _manifest_refused(found: Logged) -> None:
    fact = FACTS.first(found, "manifest.accepted").value
    fact |= {"verdict": "rejected", "rule": "manifest.role", "fault": "sender"}


FAULTS: Mapping[Fault, str] = {
    **common(ANSWERS),
    _out_of_turn: "is decided after a later one of its key",
    _illegal_step: "goes by ('queued', 'completed')",
    _version_skipped: "has version",
    _wrongly_refused: "is rejected by reply.agent, it is to be accepted by reply.progress",
    _wrongly_accepted: "it is to be rejected by judge.not_completed",
    _overspent_unseen: "it is to be accepted by budget.usd",
    _refused_with_effect: "is rejected, and has an effect",
    _other_hash: "has a hash that is not that of",
    _other_inputs: "has other inputs than",
    _output_of_another: "shows the output",
    _output_not_withheld: "shows the output",
    _error_unnamed: "has the errors",
    _late_cost_lost: "has the figures {}",
    _timer_at_another_time: "due was",
    _timer_twice: "ends a run that is not open",
    _never_timed_out: "though its time was over",
    _overdue_unseen: "whose time was over",
    _stale: "as it was before",
    _seen_nothing: "does not say what it has seen",
    _seen_more: "it is to be rejected by agent.unknown",
    _manifest_refused: "it is to be accepted by manifest.accepted",
    **summit_losses.FAULTS,
}
"""Each with a part of the sentence that is said of it."""


def is_found(put: Fault, sound: Logged, timeout_s: int) -> bool:
    """In a copy; the history stays as it is."""
    return any(
        FAULTS[put] in fault for fault in checker_summit.check(spoiled(put, sound), timeout_s)
    )
