"""The routes about dead letters: lists, one of them, and sending them back.

They show what `headrace dlq` shows, and send as `headrace dlq redrive` does.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from schemas.problems import Problem
from streams.access.callers import Role
from streams.api.route import Call, Compute, Query, Route
from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.errors import Conflict, Fenced, InvalidInput, NotFound
from streams.log.dead_letters import TOPICS, find_dead_letter, groups, letter_json
from streams.log.fetching import read_offsets
from streams.log.newest import age_of, newest_first
from streams.log.reading import partitions
from streams.ops.redrive import (
    SOURCES,
    DeadLetter,
    Redrive,
    RedriveRequest,
    RedriveStatus,
    SentBack,
    dead_letter_of,
    is_oversize,
    sent_back,
    simulate,
)
from streams.settings import Settings
from streams.views.keys import key
from streams.views.pages import PAGE_END, Entries, page_of
from streams.views.parse import parse_position
from streams.views.positions import Position
from streams.views.query_params import CURSOR, Parameter, limit, one_of
from topology.declarations import Topic

Json = dict[str, Any]
MAX_POSITIONS = 100
MAX_REASON = 1000
_SHAPE = "schema_invalid"
MAX_READ = 100_000
"""The most dead letters that one list request reads."""
MAX_SOURCES = 100
"""The most records that it reads of those that were too large for their dead letters."""
POSITION_PATTERN = r"[^/]+\.dlq/[0-9]{1,18}/[0-9]{1,18}"
_LETTERS, _GROUPS = key("dead letters"), key("dead letter groups")
_INPUTS = {source.name: dead for dead, source in SOURCES.items()}
_STATES = tuple(state.value for state in RedriveStatus)


def list_dead_letters(call: Call) -> Json:
    """Return a page of dead letters, the newest first, without their values."""
    log, prefix = _log_of(call), call.settings.prefix
    code, state = call.params.text("code"), call.params.text("state")
    topics = _dead_letter_topics(call.params.text("topic"))
    done = sent_back(log, prefix)

    def entries(after_key: bytes | None) -> Entries:
        names = {prefix + topic.name: topic for topic in topics}
        tps = partitions(log, names)
        sources = 0
        for record in islice(newest_first(log, tps), MAX_READ):
            entry_key = _LETTERS + key(*age_of(record))
            if after_key is not None and entry_key >= after_key:
                continue
            topic = names[record.topic]
            letter = letter_json(topic, record)
            if code not in (None, letter["code"]):
                yield entry_key, None
                continue
            sources += is_oversize(record)
            if sources > MAX_SOURCES:
                yield entry_key, PAGE_END
                return
            standing = dead_letter_of(log, topic, record, done).standing
            yield entry_key, _list_item(topic, letter, standing, state)

    return page_of(call.params, _LETTERS, entries)


def _list_item(topic: Topic, letter: Json, status: RedriveStatus, state: str | None) -> Json | None:
    """Return what a list shows of a dead letter; None if the filter excludes its state."""
    standing = status.value
    if state not in (None, standing):
        return None
    summary = {
        name: letter[name] for name in ("position", "source", "at", "code", "message", "key")
    }
    return {**summary, "topic": SOURCES[topic].name, "state": standing}


def _dead_letter_topics(name: str | None) -> Sequence[Topic]:
    """Return the dead letter topic of an input topic, or all."""
    return TOPICS if name is None else (_INPUTS[name],)


def summarize_dead_letters(call: Call) -> Json:
    """Count dead letters by topic and code, the most frequent first."""
    counted = groups(_log_of(call), call.settings.prefix)

    def entries(after_key: bytes | None) -> Entries:
        numbered = ((_GROUPS + key(number), group) for number, group in enumerate(counted))
        return (entry for entry in numbered if after_key is None or entry[0] > after_key)

    return page_of(call.params, _GROUPS, entries)


def get_dead_letter(call: Call) -> Json:
    """Return one dead letter, by its own position or that of its record.  Raises NotFound."""
    log, prefix = _log_of(call), call.settings.prefix
    at = parse_position("/".join(call.ids[name] for name in ("topic", "partition", "offset")))
    letter = find_dead_letter(log, at, prefix)
    place = parse_position(letter["position"])
    topic, record = _read_letter(log, place, prefix)
    if record is None:
        raise NotFound(f"the dead letter at {letter['position']} was deleted meanwhile")
    standing = dead_letter_of(log, topic, record, sent_back(log, prefix)).standing
    return {**letter, "topic": SOURCES[topic].name, "state": standing.value}


def _read_letter(log: Log, at: Position, prefix: str) -> tuple[Topic, Record | None]:
    """Return the topic of a dead letter and its record, None if it was deleted."""
    topic = next(topic for topic in TOPICS if prefix + topic.name == at.topic)
    tp = TopicPartition(at.topic, at.partition)
    return topic, next(read_offsets(log, tp, [at.offset]), None)


class _Order(NamedTuple):
    """The body of a redrive request."""

    positions: tuple[str, ...]
    dry_run: bool
    again: bool
    reason: str | None


def redrive(call: Call) -> Json:
    """Send dead letters back, each at most once, or show the verdicts they would get.

    Raises InvalidInput for a body of another form, Conflict `redrive_taken` when another redrive
    has begun: what was sent before stays sent, and the next request says so.
    """
    log, settings = _log_of(call), _settings_of(call)
    order = _parse_order(call.value(), log, settings)
    if order.dry_run:
        return {"results": list(_dry_run(log, settings, order, call.now))}
    operator = "unauthenticated" if call.caller is None else call.caller.principal
    request = RedriveRequest(operator, order.reason)
    try:
        with Redrive(log, settings, lambda: call.now) as running:
            letters = _letters(log, settings.prefix, order, running.done)
            present = [letter for letter in letters.values() if letter is not None]
            sent = {each.place: new for each, new in running.send(present, request)}
    except Fenced as exc:
        advice = "Let it end, then list the dead letters that are left."
        raise Conflict(exc.message, "redrive_taken", advice=advice) from exc
    results = [_result(place, letter, sent.get(place)) for place, letter in letters.items()]
    return {"results": results}


def _letters(log: Log, prefix: str, order: _Order, done: SentBack) -> dict[str, DeadLetter | None]:
    """Return the dead letters by their positions; None for one that was deleted."""
    letters = {}
    for place in order.positions:
        topic, record = _read_letter(log, parse_position(place), prefix)
        letters[place] = (
            None if record is None else dead_letter_of(log, topic, record, done, order.again)
        )
    return letters


def _dry_run(log: Log, settings: Settings, order: _Order, now: int) -> Iterator[Json]:
    from streams.protocols.commands import all_processors, bind_files

    bind_files(settings)
    letters = _letters(log, settings.prefix, order, sent_back(log, settings.prefix))
    present = (letter for letter in letters.values() if letter is not None)
    with tempfile.TemporaryDirectory(prefix="headrace-redrive-") as folder:
        simulated = simulate(present, log, settings, all_processors(), Path(folder), now)
        verdicts = {letter.place: verdict for letter, verdict in simulated}
    for place, letter in letters.items():
        verdict = verdicts.get(place)
        as_json = None if verdict is None else verdict._asdict()
        yield {**_result(place, letter, None), "verdict": as_json}


def _result(place: str, letter: DeadLetter | None, sent: str | None) -> Json:
    standing = RedriveStatus.GONE if letter is None else letter.standing
    return {"position": place, "state": standing.value, "sent": sent, "verdict": None}


def _parse_order(body: Any, log: Log, settings: Settings) -> _Order:
    """Check the body of a redrive request.  Raises InvalidInput, NotFound."""
    if not isinstance(body, dict):
        raise InvalidInput([Problem(_SHAPE, "", "The body must be an object.")])
    checks = {"positions": list, "dry_run": bool, "again": bool, "reason": str | None}
    problems = [
        Problem(_SHAPE, f"/{name}", f"{name} is not a member of a redrive.")
        for name in body
        if name not in checks
    ]
    problems += [
        Problem(_SHAPE, f"/{name}", f"{name} must be {_TYPES[name]}.")
        for name, kind in checks.items()
        if name in body and not isinstance(body[name], kind)
    ]
    positions = body.get("positions")
    if positions is None:
        problems.append(Problem(_SHAPE, "/positions", "positions is missing."))
    elif isinstance(positions, list):
        problems += _position_problems(positions)
    reason = body.get("reason")
    if isinstance(reason, str) and len(reason) > MAX_REASON:
        message = f"reason must have at most {MAX_REASON} characters."
        problems.append(Problem(_SHAPE, "/reason", message))
    if problems:
        raise InvalidInput(problems)
    dry_run, again = body.get("dry_run", False), body.get("again", False)
    full = (_full_position(text, log, settings.prefix) for text in body["positions"])
    return _Order(tuple(dict.fromkeys(full)), dry_run, again, reason)


_TYPES = {
    "positions": "a list of positions",
    "dry_run": "true or false",
    "again": "true or false",
    "reason": "a text or null",
}


def _position_problems(positions: list[Any]) -> Iterator[Problem]:
    if not 0 < len(positions) <= MAX_POSITIONS:
        message = f"positions must have 1 to {MAX_POSITIONS} positions, not {len(positions)}."
        yield Problem(_SHAPE, "/positions", message)
        return
    for number, text in enumerate(positions):
        if not isinstance(text, str) or not re.fullmatch(POSITION_PATTERN, text):
            message = "A position of a dead letter is topic/partition/offset on a .dlq topic."
            yield Problem(_SHAPE, f"/positions/{number}", message)


def _full_position(text: str, log: Log, prefix: str) -> str:
    """Return a position with the topic's full name; it may lack the prefix.  Raises NotFound."""
    at = parse_position(text)
    names = {prefix + topic.name: topic.name for topic in TOPICS}
    name = at.topic if at.topic in names else prefix + at.topic
    existing = log.topics().get(name)
    if name not in names or existing is None or at.partition >= existing.partitions:
        raise NotFound(f"there is no partition {at.topic}/{at.partition} of dead letters")
    return "/".join(map(str, at._replace(topic=name)))


def _log_of(call: Call) -> Log:
    assert call.log is not None, "routes that read the log get it"
    return call.log


def _settings_of(call: Call) -> Settings:
    assert isinstance(call.settings, Settings), "a host gives all settings"
    return call.settings


_TOPIC = one_of("topic", "of this input topic", tuple(sorted(_INPUTS)))
_CODE = Parameter("code", "with this code", low=1, example="decide_failed")
_STATE = Parameter("state", "that can be sent back, or why not", choices=_STATES)

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/dead-letters",
        "list_dead_letters",
        Query(list_dead_letters, reads_view=False, asks_kafka=True),
        "records that could not be decoded or decided, the newest first",
        (_TOPIC, _CODE, _STATE, limit(100, 1000), CURSOR),
        "DeadLetterPage",
    ),
    Route(
        "GET",
        "/v1/dead-letters/summary",
        "summarize_dead_letters",
        Query(summarize_dead_letters, reads_view=False, asks_kafka=True),
        "counts of dead letters by topic and code, the most frequent first",
        (limit(100, 1000), CURSOR),
        "DeadLetterGroups",
    ),
    Route(
        "GET",
        "/v1/dead-letters/{topic}/{partition}/{offset}",
        "get_dead_letter",
        Query(get_dead_letter, reads_view=False, asks_kafka=True),
        "one dead letter, by its position or by that of its record",
        (),
        "DeadLetter",
    ),
    Route(
        "POST",
        "/v1/dead-letters/redrive",
        "redrive_dead_letters",
        Compute(redrive, asks_kafka=True),
        "send dead letters to their topics again, each at most once",
        answer="RedriveResults",
        body="redrive",
        role=Role.OPERATOR,
        errors=(404, 409),
    ),
)
