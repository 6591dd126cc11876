"""Faults that are put into what a run of ASAP has left, to show that the checker finds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.e2e import checker_asap
from tests.e2e.asap_history import AsapHistory, Entry
from tests.e2e.outputs import Json
from tests.e2e.spoiling import Facts, Fault, Spoiled, common, spoiled
from topology.asap import (
    ASAP_ENVELOPES,
    ASAP_ENVELOPES_DLQ,
    ASAP_EVENTS,
    ASAP_INBOX,
    ASAP_LINKS,
    ASAP_SNAPSHOTS,
    ASAP_TASKS,
)
from topology.core import RTES_RAW

SERVICE = "urn:asap:agent:headrace"
FACTS = Facts(ASAP_EVENTS, "event_id", ASAP_ENVELOPES)
ANSWERS = Spoiled(
    FACTS,
    missing="task_not_found",
    twice="message_forwarded",
    another="task_already_terminal",
    unknown="task_not_found",
    letter_twice=ASAP_ENVELOPES_DLQ,
    letter_missing=ASAP_ENVELOPES_DLQ,
)


def _out_of_turn(history: AsapHistory) -> None:
    facts = history.of(ASAP_EVENTS)
    key = FACTS.first(history, "state_saved").key
    n, m = [n for n, entry in enumerate(facts) if entry.key == key][:2]
    facts[n], facts[m] = facts[m], facts[n]


def _sequence_skipped(history: AsapHistory) -> None:
    FACTS.first(history, "progress_noted").value["sequence"] += 1


def _version_skipped(history: AsapHistory) -> None:
    _saving(history).value["snapshot_version"] += 1


def _version_twice(history: AsapHistory) -> None:
    saved = [entry for entry in FACTS.by(history, "state_saved") if entry.value["snapshot_version"]]
    second = next(entry for entry in saved if entry.value["snapshot_version"] > 1)
    second.value["snapshot_version"] -= 1


def _saving(history: AsapHistory) -> Entry:
    saved = FACTS.by(history, "state_saved")
    return next(entry for entry in saved if entry.value["snapshot_version"])


def _illegal_step(history: AsapHistory) -> None:
    fact = FACTS.first(history, "status_changed").value
    fact["transitions"][-1]["to_status"] = fact["status"] = "completed"


def _step_unmarked(history: AsapHistory) -> None:
    steps = (entry.value["transitions"] for entry in FACTS.by(history, "response_recorded"))
    next(each for each in steps if len(each) == 2)[0]["implied"] = False


def _wrongly_refused(history: AsapHistory) -> None:
    refused = {"verdict": "rejected", "rule": "not_participant", "envelope": None}
    FACTS.first(history, "artifact_noted").value.update(refused)


def _refused_with_effect(history: AsapHistory) -> None:
    FACTS.first(history, "wrong_recipient").value["sequence"] = 7


def _other_envelope(history: AsapHistory) -> None:
    FACTS.first(history, "progress_noted").value["envelope"]["payload"]["status"] = "paused"


def _other_hash(history: AsapHistory) -> None:
    FACTS.first(history, "progress_noted").value["envelope_hash"] = "0" * 64


def _other_first(history: AsapHistory) -> None:
    again = FACTS.by(history, "same_envelope")
    fact = next(entry.value for entry in again if entry.value["kind"] == "envelope")
    fact["figures"]["first_sequence"] = 99


def _timer_at_another_time(history: AsapHistory) -> None:
    FACTS.first(history, "task_timeout").value["at"] = "2026-01-01T00:00:00.000Z"


def _never_timed_out(history: AsapHistory) -> None:
    facts = history.of(ASAP_EVENTS)
    facts.remove(FACTS.first(history, "task_timeout"))


def _deeper(history: AsapHistory) -> None:
    created = FACTS.by(history, "task_created")
    next(e for e in created if e.value["figures"]["parent_known"]).value["figures"]["depth"] += 1


def _other_holder(history: AsapHistory) -> None:
    FACTS.first(history, "same_idempotency_key").value["task_id"] = "t1"


def _holder_too_many(history: AsapHistory) -> None:
    fact = FACTS.first(history, "same_idempotency_key").value
    command = next(e for e in history.of(ASAP_ENVELOPES) if e.place == fact["cause"])
    fact |= {"rule": "task_created", "verdict": "accepted", "task_id": fact["envelope_id"]}
    fact |= {"figures": {"depth": 0, "parent_known": None}, "envelope": command.value}


def _differs_not(history: AsapHistory) -> None:
    figures = FACTS.first(history, "same_idempotency_key").value["figures"]
    figures["content_differs"] = not figures["content_differs"]


def _inbox_twice(history: AsapHistory) -> None:
    history.of(ASAP_INBOX).append(history.of(ASAP_INBOX)[5])


def _inbox_missing(history: AsapHistory) -> None:
    del history.of(ASAP_INBOX)[5]


def _inbox_of_another(history: AsapHistory) -> None:
    inbox = history.of(ASAP_INBOX)
    inbox[5] = inbox[5]._replace(key=b"urn:asap:agent:stranger")


def _answers(history: AsapHistory) -> Iterator[Json]:
    answers = (entry.value for entry in history.of(ASAP_INBOX) if entry.value["sender"] == SERVICE)
    states = ((each["extensions"] or {}).get("dev.headrace.snapshot") for each in answers)
    return (each for each in states if each)


def _other_state(history: AsapHistory) -> None:
    next(each for each in _answers(history) if each["version"] > 3)["data"]["lie"] = True


def _not_sent_again(history: AsapHistory) -> None:
    links = {e.place for e in history.of(ASAP_LINKS) if e.value["kind"] == "resend"}
    inbox = history.of(ASAP_INBOX)
    del inbox[next(n for n, entry in enumerate(inbox) if entry.cause in links)]


def _sent_again_twice(history: AsapHistory) -> None:
    links = {e.place for e in history.of(ASAP_LINKS) if e.value["kind"] == "resend"}
    inbox = history.of(ASAP_INBOX)
    inbox.append(next(entry for entry in inbox if entry.cause in links))


def _row_of_task(history: AsapHistory) -> None:
    rows = history.of(ASAP_TASKS)
    next(e for e in rows if e.value["snapshot_mark"]).value["snapshot_mark"] += 1


def _row_missing(history: AsapHistory) -> None:
    del history.of(ASAP_TASKS)[-1]


def _snapshot_missing(history: AsapHistory) -> None:
    history.of(ASAP_SNAPSHOTS).remove(_kept(history))


def _kept(history: AsapHistory) -> Entry:
    """A row of asap.snapshots that is there in the end."""
    return next(entry for entry in history.of(ASAP_SNAPSHOTS) if entry.json is not None)


def _snapshot_changed(history: AsapHistory) -> None:
    _kept(history).value["data"]["lie"] = True


def _not_deleted(history: AsapHistory) -> None:
    rows = history.of(ASAP_SNAPSHOTS)
    n = next(n for n, entry in enumerate(rows) if entry.json is None)
    rows[n] = rows[n]._replace(json=_kept(history).json)


def _told_twice(history: AsapHistory) -> None:
    history.of(RTES_RAW).append(history.of(RTES_RAW)[3])


def _not_told(history: AsapHistory) -> None:
    del history.of(RTES_RAW)[3]


FAULTS: Mapping[Fault, str] = {
    **common(ANSWERS),
    _out_of_turn: "is decided after a later one of its key",
    _sequence_skipped: "has sequence",
    _version_skipped: "saves version",
    _version_twice: "saves version",
    _illegal_step: "goes by (('",
    _step_unmarked: "goes by",
    _wrongly_refused: "is not_participant where artifact_noted was due",
    _refused_with_effect: "is rejected, and has an effect",
    _other_envelope: "has another envelope",
    _other_hash: "has a hash that is not",
    _other_first: "is said to repeat",
    _timer_at_another_time: "not by timer/task/",
    _never_timed_out: "though its time was over",
    _deeper: "has depth",
    _other_holder: "is answered by t1",
    _holder_too_many: "has tasks [",
    _differs_not: "differs from its task",
    _inbox_twice: "too many of",
    _inbox_missing: "the inbox lacks",
    _inbox_of_another: "too many of",
    _other_state: "the inbox lacks",
    _not_sent_again: "is sent 0 times",
    _sent_again_twice: "is sent 2 times",
    _row_of_task: "row of task",
    _row_missing: "row of task",
    _snapshot_missing: "row of snapshot",
    _snapshot_changed: "row of snapshot",
    _not_deleted: "has no facts",
    _told_twice: "RTES events of",
    _not_told: "RTES events of",
}
"""Each with a part of the sentence that is said of it."""


def is_found(put: Fault, sound: AsapHistory) -> bool:
    """In a copy; the history stays as it is."""
    return any(FAULTS[put] in fault for fault in checker_asap.check(spoiled(put, sound)))
