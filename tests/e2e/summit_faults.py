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


def _out_of_turn(history: Logged) -> None:
    facts = history.of(SUMMIT_EVENTS)
    second = FACTS.first(history, "judge.already")
    first = next(
        entry
        for entry in facts
        if entry.key == second.key and entry.value["rule"] == "reply.verification"
    )
    n, m = facts.index(first), facts.index(second)
    facts[n], facts[m] = facts[m], facts[n]


def _illegal_step(history: Logged) -> None:
    fact = next(e.value for e in FACTS.by(history, "reply.progress") if "toState" in e.value)
    fact["toState"] = "completed"


def _version_skipped(history: Logged) -> None:
    FACTS.first(history, "reply.progress").value["runVersion"] += 1


def _wrongly_refused(history: Logged) -> None:
    fact = FACTS.first(history, "reply.progress").value
    fact |= {"verdict": "rejected", "rule": "reply.agent", "fault": "sender"}


def _wrongly_accepted(history: Logged) -> None:
    fact = FACTS.first(history, "judge.not_completed").value
    fact |= {"verdict": "accepted", "rule": "reply.verification"}


def _overspent_unseen(history: Logged) -> None:
    FACTS.first(history, "budget.usd").value["rule"] = "reply.result"


def _refused_with_effect(history: Logged) -> None:
    fact = FACTS.first(history, "run.conflict").value
    fact |= {"fromState": "none", "toState": "queued"}


def _other_hash(history: Logged) -> None:
    FACTS.first(history, "reply.result").value["contentHash"] = OTHER


def _other_inputs(history: Logged) -> None:
    del FACTS.first(history, "call.accepted").value["inputs"]["top"]


def _output_of_another(history: Logged) -> None:
    FACTS.first(history, "reply.result").value["output"] = {"words": 3}


def _output_not_withheld(history: Logged) -> None:
    FACTS.first(history, "output.schema").value["output"] = {"words": "two"}


def _error_unnamed(history: Logged) -> None:
    FACTS.first(history, "inputs.schema").value["errors"].pop()


def _late_cost_lost(history: Logged) -> None:
    late = FACTS.by(history, "run.terminal")
    next(entry.value for entry in late if entry.value["figures"])["figures"].clear()


def _timer_at_another_time(history: Logged) -> None:
    FACTS.first(history, "run.timeout").value["at"] += 1


def _timer_twice(history: Logged) -> None:
    again(history, SUMMIT_EVENTS, FACTS.first(history, "budget.seconds"), eventId="another")


def _never_timed_out(history: Logged) -> None:
    last = {entry.key: entry for entry in history.of(SUMMIT_EVENTS)}
    timers = FACTS.by(history, "budget.seconds")
    history.of(SUMMIT_EVENTS).remove(next(entry for entry in timers if last[entry.key] is entry))


def _overdue_unseen(history: Logged) -> None:
    """A late reply is decided as if it had come in time."""
    facts = history.of(SUMMIT_EVENTS)
    replies = {entry.place for entry in history.of(SUMMIT_REPLIES)}
    timers = FACTS.by(history, "budget.seconds")
    facts.remove(next(entry for entry in timers if entry.value["cause"] in replies))


def _stale(history: Logged) -> None:
    """A call is judged by the agents as they were before what its sender had read."""
    calls = {entry.place: entry.value["params"] for entry in history.of(SUMMIT_CALLS) if entry.json}
    accepted = [entry.value for entry in FACTS.by(history, "manifest.accepted")]
    first: dict[str, Json] = {}
    for fact in accepted:
        first.setdefault(fact["agentId"], fact)
    times = Counter(fact["manifestHash"] for fact in accepted)
    later = {fact["cause"] for fact in accepted} - {fact["cause"] for fact in first.values()}
    for entry in FACTS.by(history, "call.accepted"):
        after = calls[entry.value["cause"]]["context"].get("after")
        known = first[entry.value["agentId"]]
        if after in later and times[known["manifestHash"]] == 1:
            fact = entry.value
            fact |= {name: known[name] for name in ("manifestHash", "manifestVersion")}
            return
    raise AssertionError("all agents are as they were")


def _seen_nothing(history: Logged) -> None:
    del FACTS.first(history, "agent.unknown").value["agentsSeen"]


def _seen_more(history: Logged) -> None:
    fact = FACTS.first(history, "agent.withdrawn").value
    fact["agentsSeen"] = [0 for _ in fact["agentsSeen"]]


def _manifest_refused(history: Logged) -> None:
    fact = FACTS.first(history, "manifest.accepted").value
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
