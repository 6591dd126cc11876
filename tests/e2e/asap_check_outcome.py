"""Rows, inboxes and RTES hold what the facts come to: that, once, and nothing else."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from schemas import canonical_json
from tests.e2e.asap_fold import Fold, Promise
from tests.e2e.asap_history import AsapHistory, Entry
from tests.e2e.asap_states import ms_of
from tests.e2e.findings import differences
from tests.e2e.outputs import Json
from topology.asap import ASAP_EVENTS, ASAP_INBOX, ASAP_LINKS, ASAP_SNAPSHOTS, ASAP_TASKS
from topology.core import RTES_RAW

LARGE = 8000
"""Characters from which on a response need not stand in its task's row (9.20)."""
LATE_MS = 10_000
"""How long after its time a timer may fire."""


def check(history: AsapHistory, fold: Fold) -> Iterator[str]:
    yield from _rows(history, fold)
    yield from _delivered(history, fold)
    yield from _reported(history, fold)
    yield from _timely(history, fold)


def _rows(history: AsapHistory, fold: Fold) -> Iterator[str]:
    rows = history.rows(ASAP_TASKS)
    expected = {_part(key): task.row for key, task in fold.tasks.items()}
    for key, row in expected.items():
        response = row["response"]
        if response is not None and len(canonical_json(response)) > LARGE:
            stored = rows.get(key, row)["response"]
            expected[key] = {**row, "response": stored if stored in (None, response) else response}
    yield from differences("row of task", rows, expected)
    states = [task.states for task in fold.tasks.values()]
    saved = {f"{_part(one.task_id)}/{n}": row for one in states for n, row in one.rows.items()}
    yield from differences("row of snapshot", history.rows(ASAP_SNAPSHOTS), saved)


def _part(id: str) -> str:
    return id.replace("%", "%25").replace("/", "%2F")


def _delivered(history: AsapHistory, fold: Fold) -> Iterator[str]:
    """Each promise once; besides, a response again for each request that an older task answers."""
    deliveries = Counter(_text(_promise(entry)) for entry in history.of(ASAP_INBOX))
    owed = Counter(_text(promise) for promise in fold.promises)
    resent = {entry.place: entry for entry in history.of(ASAP_LINKS) if _resends(entry)}
    for entry in history.of(ASAP_INBOX):
        link = resent.get(entry.cause)
        if link is not None:
            deliveries.subtract([_text(_promise(entry))])
            yield from _again(entry, link, fold)
    for expected, count in deliveries.items():
        if count > owed[expected]:
            yield f"the inbox has {count - owed[expected]} too many of {expected}"
    yield from (f"the inbox lacks {n} of {expected}" for expected, n in (owed - deliveries).items())
    yield from _resent(history, fold, resent)


def _promise(entry: Entry) -> Promise:
    return Promise(entry.cause, entry.text_key, entry.value)


def _text(promise: Promise) -> str:
    return f"{promise.cause} to {promise.recipient}: {canonical_json(promise.envelope).decode()}"


def _resends(link: Entry) -> bool:
    return bool(link.value["kind"] == "resend")


def _again(entry: Entry, link: Entry, fold: Fold) -> Iterator[str]:
    task = fold.tasks.get(link.text_key)
    if task is None or entry.value != task.row["response"]:
        yield f"{entry.place} is sent again, and not the response of {link.text_key}"
    elif entry.text_key != task.row["requester"]:
        yield f"{entry.place} is sent again to {entry.text_key}"
    about = entry.headers.get("headrace-answers", b"").decode()
    if about != link.value["envelope_id"]:
        yield f"{entry.place} is sent again for {about}, not for {link.value['envelope_id']}"


def _resent(history: AsapHistory, fold: Fold, resent: Mapping[str, Entry]) -> Iterator[str]:
    """A response that was there when a request asked for it comes once more, and only then."""
    sent = Counter(entry.cause for entry in history.of(ASAP_INBOX) if entry.cause in resent)
    for place, link in resent.items():
        response = fold.responses.get(link.text_key)
        was_there = response is not None and response.at < link.at
        if sent[place] > 1 or (was_there and not sent[place]):
            yield f"by {place} the response of {link.text_key} is sent {sent[place]} times"
        if response is None and sent[place]:
            yield f"by {place} a response is sent that {link.text_key} has not"


def _reported(history: AsapHistory, fold: Fold) -> Iterator[str]:
    """Per session in the facts' order, as far as one decision goes; each once."""
    events: dict[str, list[Json]] = defaultdict(list)
    for entry in history.of(RTES_RAW):
        if entry.value["origin"] == "asap":
            events[entry.cause].append(entry.value)
    owed: dict[str, list[Json]] = defaultdict(list)
    for report in fold.reports:
        event_id = uuid.uuid5(uuid.NAMESPACE_URL, f"headrace:{report.cause}/{report.n}")
        event = {"event_id": str(event_id), "session_id": report.session, "origin": "asap"}
        owed[report.cause].append({**event, "payload": report.payload})
    yield from differences("RTES events of", events, owed)


def _timely(history: AsapHistory, fold: Fold) -> Iterator[str]:
    """Nothing stays open when its time is over."""
    end = max((ms_of(fact["at"]) for fact in history.values(ASAP_EVENTS)), default=0) - LATE_MS
    for key, task in fold.tasks.items():
        if not task.terminal and task.due_ms < end:
            yield f"the task {key} is {task.status} though its time was over at {task.due_ms}"
    for key, call in fold.calls.items():
        if call.is_open and call.due_ms < end:
            yield f"the call {key} is open though its time was over at {call.due_ms}"
