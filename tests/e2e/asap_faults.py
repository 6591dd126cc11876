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


def _out_of_turn(found: AsapHistory) -> None:
    facts = found.of(ASAP_EVENTS)
    key = FACTS.first(found, "state_saved").key
    n, m = [n for n, entry in enumerate(facts) if entry.key == key][:2]
    facts[n], facts[m] = facts[m], facts[n]


def _sequence_skipped(found: AsapHistory) -> None:
    FACTS.first(found, "progress_noted").value["sequence"] += 1


def _version_skipped(found: AsapHistory) -> None:
    _saving(found).value["snapshot_version"] += 1


def _version_twice(found: AsapHistory) -> None:
    saved = [entry for entry in FACTS.by(found, "state_saved") if entry.value["snapshot_version"]]
    second = next(entry for entry in saved if entry.value["snapshot_version"] > 1)
    second.value["snapshot_version"] -= 1


def _saving(found: AsapHistory) -> Entry:
    saved = FACTS.by(found, "state_saved")
    return next(entry for entry in saved if entry.value["snapshot_version"])


def _illegal_step(found: AsapHistory) -> None:
    fact = FACTS.first(found, "status_changed").value
    fact["transitions"][-1]["to_status"] = fact["status"] = "completed"


def _step_unmarked(found: AsapHistory) -> None:
    steps = (entry.value["transitions"] for entry in FACTS.by(found, "response_recorded"))
    next(each for each in steps if len(each) == 2)[0]["implied"] = False


def _wrongly_refused(found: AsapHistory) -> None:
    refused = {"verdict": "rejected", "rule": "not_participant", "envelope": None}
    FACTS.first(found, "artifact_noted").value.update(refused)


def _refused_with_effect(found: AsapHistory) -> None:
    FACTS.first(found, "wrong_recipient").value["sequence"] = 7


def _other_envelope(found: AsapHistory) -> None:
    FACTS.first(found, "progress_noted").value["envelope"]["payload"]["status"] = "paused"


def _other_hash(found: AsapHistory) -> None:
    FACTS.first(found, "progress_noted").value["envelope_hash"] = "0" * 64


def _other_first(found: AsapHistory) -> None:
    again = FACTS.by(found, "same_envelope")
    fact = next(entry.value for entry in again if entry.value["kind"] == "envelope")
    fact["figures"]["first_sequence"] = 99


def _timer_at_another_time(found: AsapHistory) -> None:
    FACTS.first(found, "task_timeout").value["at"] = "2026-01-01T00:00:00.000Z"


def _never_timed_out(found: AsapHistory) -> None:
    facts = found.of(ASAP_EVENTS)
    facts.remove(FACTS.first(found, "task_timeout"))


def _deeper(found: AsapHistory) -> None:
    created = FACTS.by(found, "task_created")
    next(e for e in created if e.value["figures"]["parent_known"]).value["figures"]["depth"] += 1


def _other_holder(found: AsapHistory) -> None:
    FACTS.first(found, "same_idempotency_key").value["task_id"] = "t1"


def _holder_too_many(found: AsapHistory) -> None:
    fact = FACTS.first(found, "same_idempotency_key").value
    command = next(e for e in found.of(ASAP_ENVELOPES) if e.place == fact["cause"])
    fact |= {"rule": "task_created", "verdict": "accepted", "task_id": fact["envelope_id"]}
    fact |= {"figures": {"depth": 0, "parent_known": None}, "envelope": command.value}


def _differs_not(found: AsapHistory) -> None:
    figures = FACTS.first(found, "same_idempotency_key").value["figures"]
    figures["content_differs"] = not figures["content_differs"]


def _inbox_twice(found: AsapHistory) -> None:
    found.of(ASAP_INBOX).append(found.of(ASAP_INBOX)[5])


def _inbox_missing(found: AsapHistory) -> None:
    del found.of(ASAP_INBOX)[5]


def _inbox_of_another(found: AsapHistory) -> None:
    inbox = found.of(ASAP_INBOX)
    inbox[5] = inbox[5]._replace(key=b"urn:asap:agent:stranger")


def _answers(found: AsapHistory) -> Iterator[Json]:
    said = (entry.value for entry in found.of(ASAP_INBOX) if entry.value["sender"] == SERVICE)
    shown = ((each["extensions"] or {}).get("dev.headrace.snapshot") for each in said)
    return (each for each in shown if each)


def _other_state(found: AsapHistory) -> None:
    next(each for each in _answers(found) if each["version"] > 3)["data"]["lie"] = True


def _not_sent_again(found: AsapHistory) -> None:
    links = {e.place for e in found.of(ASAP_LINKS) if e.value["kind"] == "resend"}
    inbox = found.of(ASAP_INBOX)
    del inbox[next(n for n, entry in enumerate(inbox) if entry.cause in links)]


def _sent_again_twice(found: AsapHistory) -> None:
    links = {e.place for e in found.of(ASAP_LINKS) if e.value["kind"] == "resend"}
    inbox = found.of(ASAP_INBOX)
    inbox.append(next(entry for entry in inbox if entry.cause in links))


def _row_of_task(found: AsapHistory) -> None:
    rows = found.of(ASAP_TASKS)
    next(e for e in rows if e.value["snapshot_mark"]).value["snapshot_mark"] += 1


def _row_missing(found: AsapHistory) -> None:
    del found.of(ASAP_TASKS)[-1]


def _snapshot_missing(found: AsapHistory) -> None:
    found.of(ASAP_SNAPSHOTS).remove(_kept(found))


def _kept(found: AsapHistory) -> Entry:
    """A row of asap.snapshots that is there in the end."""
    return next(entry for entry in found.of(ASAP_SNAPSHOTS) if entry.json is not None)


def _snapshot_changed(found: AsapHistory) -> None:
    _kept(found).value["data"]["lie"] = True


def _not_deleted(found: AsapHistory) -> None:
    rows = found.of(ASAP_SNAPSHOTS)
    n = next(n for n, entry in enumerate(rows) if entry.json is None)
    rows[n] = rows[n]._replace(json=_kept(found).json)


def _told_twice(found: AsapHistory) -> None:
    found.of(RTES_RAW).append(found.of(RTES_RAW)[3])


def _not_told(found: AsapHistory) -> None:
    del found.of(RTES_RAW)[3]


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
