"""Faults that are put into what a run of SAP has left, to show that the checker finds them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping

from tests.e2e import checker_sap, sap_check_cache
from tests.e2e.outputs import Json
from tests.e2e.sap_history import Entry, SapHistory
from topology.sap import (
    SAP_ACKS,
    SAP_CACHE,
    SAP_HEURISTICS,
    SAP_INBOX,
    SAP_LEARNING,
    SAP_LOOKUPS,
    SAP_OUTCOMES,
    SAP_TASK_STATES,
    SAP_VERDICTS,
)

Fault = Callable[[SapHistory], None]


def latter(history: SapHistory) -> Entry:
    """A row of sap.cache that has one before it and one behind it."""
    third = {row["cacheKey"] for row in history.values(SAP_CACHE) if row["version"] == 3}
    rows = (entry for entry in history.of(SAP_CACHE) if entry.value["version"] == 2)
    return next(entry for entry in rows if entry.value["cacheKey"] in third)


def hit(history: SapHistory) -> Entry:
    return next(entry for entry in history.of(SAP_VERDICTS) if entry.value["verdict"] == "hit")


def ended(history: SapHistory, rule: str) -> Json:
    outcomes = history.values(SAP_OUTCOMES)
    return next(one for one in outcomes if one["meta"]["headrace"]["rule"] == rule)


def _row_twice(history: SapHistory) -> None:
    history.of(SAP_CACHE).append(latter(history))


def _row_missing(history: SapHistory) -> None:
    history.of(SAP_CACHE).remove(latter(history))


def _tombstone(history: SapHistory) -> None:
    entry = latter(history)
    history.of(SAP_CACHE).append(copy.copy(entry))
    history.of(SAP_CACHE)[-1].json = None


def _byte_changed(history: SapHistory) -> None:
    output = latter(history).value["output"]
    output["text"] = output["text"].replace("All", "Ail")


def _resealed(history: SapHistory) -> None:
    """Forged with a hash that fits."""
    record = latter(history).value
    record["output"]["text"] += "!"
    record["recordSha256"] = sap_check_cache.record_hash(record)


def _other_producer(history: SapHistory) -> None:
    latter(history).value["producer"] = "someone"


def _wrong_key(history: SapHistory) -> None:
    latter(history).key = b"0" * 64 + b"/00000002"


def _second_end(history: SapHistory) -> None:
    outcomes = history.of(SAP_OUTCOMES)
    again = copy.deepcopy(next(e for e in outcomes if e.value["status"] == "SUCCEEDED"))
    again.value["meta"]["headrace"]["seq"] += 1
    outcomes.append(again)


def _outcome_twice(history: SapHistory) -> None:
    history.of(SAP_OUTCOMES).append(history.of(SAP_OUTCOMES)[-1])


def _outcome_missing(history: SapHistory) -> None:
    outcomes = history.of(SAP_OUTCOMES)
    outcomes.remove(next(e for e in outcomes if e.value["producer"]["agentKind"] == "agent"))


def _withheld(history: SapHistory) -> None:
    ended(history, "alignment_refused")["output"] = {"text": "told all the same"}


def _ack_missing(history: SapHistory) -> None:
    del history.of(SAP_ACKS)[3]


def _ack_twice(history: SapHistory) -> None:
    history.of(SAP_ACKS).append(history.of(SAP_ACKS)[3])


def _asked_in_spite_of_a_hit(history: SapHistory) -> None:
    task_id = ended(history, "cache_hit")["taskId"]
    task = copy.deepcopy(history.of(SAP_INBOX)[0])
    task.value["taskId"] = task_id
    history.of(SAP_INBOX).append(task)


def _asked_twice(history: SapHistory) -> None:
    history.of(SAP_INBOX).append(history.of(SAP_INBOX)[0])


def _lookup_unanswered(history: SapHistory) -> None:
    history.of(SAP_VERDICTS).remove(hit(history))


def _answered_twice(history: SapHistory) -> None:
    again = copy.deepcopy(hit(history))
    again.value["verdictId"] = "another"
    history.of(SAP_VERDICTS).append(again)


def _stored_twice(history: SapHistory) -> None:
    again = copy.deepcopy(next(e for e in history.of(SAP_LOOKUPS) if e.value["op"] == "STORE"))
    again.value["lookupId"] = "another"
    history.of(SAP_LOOKUPS).append(again)


def _older_than_it_says(history: SapHistory) -> None:
    hit(history).value["ageSec"] += 1


def _other_version(history: SapHistory) -> None:
    ended(history, "cache_hit")["constitutionalEvidence"]["cache"]["version"] += 1


def _row_of_task(history: SapHistory) -> None:
    history.of(SAP_TASK_STATES)[-1].value["state"] = "NONE"


def _miscounted(history: SapHistory) -> None:
    history.of(SAP_LEARNING)[-1].value["computed"] += 1


def _unlearned(history: SapHistory) -> None:
    history.of(SAP_HEURISTICS)[0].value["volatileKeys"] = ["document"]


FAULTS: Mapping[Fault, str] = {
    _row_twice: "row of sap.cache",
    _row_missing: "from version 1 to 3",
    _tombstone: "is a tombstone",
    _byte_changed: "has a hash that is not its own",
    _resealed: "has another output than its outcome",
    _other_producer: "is not what was given to be stored",
    _wrong_key: "has key",
    _second_end: "goes from SUCCEEDED to SUCCEEDED",
    _outcome_twice: "says that it is",
    _outcome_missing: "outcomes of result",
    _withheld: "has another output",
    _ack_missing: "has 0 acks",
    _ack_twice: "has 2 acks",
    _asked_in_spite_of_a_hit: "in spite of {'cache_hit'}",
    _asked_twice: "inbox task",
    _lookup_unanswered: "was answered []",
    _answered_twice: "was answered ['hit', 'hit']",
    _stored_twice: "STOREs of",
    _older_than_it_says: "s old",
    _other_version: "not {'hit': True",
    _row_of_task: "row of task",
    _miscounted: "counts of",
    _unlearned: "row of sap.heuristics",
}
"""Each with a part of the sentence that is said of it."""
MAIN_FAULTS = (_row_twice, _row_missing, _byte_changed, _second_end)
"""In `sap.cache` and `sap.outcomes` alone."""


def is_found(put: Fault, sound: SapHistory) -> bool:
    """In a copy; the history stays as it is."""
    touched = (SAP_CACHE, SAP_OUTCOMES) if put in MAIN_FAULTS else ()
    history = copied(sound, *(topic.name for topic in touched))
    put(history)
    return any(FAULTS[put] in fault for fault in checker_sap.faults(history))


def copied(history: SapHistory, *names: str) -> SapHistory:
    """Several times as fast as copy.deepcopy.  names: topics that are copied, all if none is."""
    touched = {name: history.entries[name] for name in names or history.entries}
    return SapHistory(history.entries | pickle.loads(pickle.dumps(touched)))
