"""What a run must have left of the turns and events of agents at work."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from streams.engine.records import Record, position
from tests.e2e import checker_links
from tests.e2e.findings import repeated
from tests.e2e.history import Source, values_of
from tests.e2e.outputs import Json
from topology import topics
from topology.core import RTES_RAW
from topology.declarations import Topic
from topology.saop import (
    RTES_EVENTS,
    RTES_RAW_DLQ,
    RTES_REJECTIONS,
    SAOP_LOG,
    SAOP_TURNS,
    SAOP_TURNS_DLQ,
    SAOP_VERDICTS,
)

UNMASKED = (RTES_RAW,)
"""Where secrets of agents may lie, for a day."""


def check(source: Source, thoughts: dict[tuple[str, int], str]) -> list[str]:
    """Everything that is wrong.  thoughts: of each turn that was sent, by task and index."""
    events = values_of(source, RTES_EVENTS)
    logged = values_of(source, SAOP_LOG)
    verdicts = values_of(source, SAOP_VERDICTS)
    refused = values_of(source, RTES_REJECTIONS)
    raw, dead = source.records(RTES_RAW), source.records(RTES_RAW_DLQ)
    turns, dead_turns = source.records(SAOP_TURNS), source.records(SAOP_TURNS_DLQ)
    observations = [
        event
        for event in events
        if event["rewind_id"] is None and event["rule"] not in ("paused", "resumed")
    ]
    return [
        *_answered("event", raw, [*observations, *refused], dead),
        *_answered("turn", turns, verdicts, dead_turns),
        *_numbered(events),
        *_in_order(logged),
        *_logged_once(verdicts, logged),
        *_verbatim(logged, thoughts),
        *_streamed(events, thoughts),
        *checker_links.check(events),
    ]


def _answered(
    what: str, sent: Sequence[Record], facts: Iterable[Json], dead: Sequence[Record]
) -> Iterator[str]:
    """Each record has one verdict or one dead letter."""
    answers = Counter(fact["cause"] for fact in facts)
    answers.update(dict(record.headers)["headrace-cause"].decode() for record in dead)
    for place in map(position, sent):
        if answers[place] != 1:
            yield f"{what} {place} has {answers[place]} answers"
        del answers[place]
    yield from (f"an answer to {place}, which is no {what}" for place in answers)


def _numbered(events: Sequence[Json]) -> Iterator[str]:
    """Sequences of a session have no hole and no repeat, in the order of the log."""
    last: dict[str, int] = defaultdict(int)
    yield from repeated("event", (f"{e['session_id']}/{e['event_id'].lower()}" for e in events))
    for event in events:
        session, sequence = event["session_id"], event["sequence"]
        if sequence != last[session] + 1:
            yield f"{session} goes from sequence {last[session]} to {sequence}"
        last[session] = sequence


def _in_order(logged: Sequence[Json]) -> Iterator[str]:
    """Turns of a task ascend, and every hole is named by the turn behind it."""
    following: dict[str, int] = defaultdict(int)
    for one in logged:
        task, index = one["turn"]["metadata"]["task_id"], one["turn"]["turn_index"]
        missing = (one["gap"]["missing_from"], one["gap"]["missing_to"]) if one["gap"] else None
        expected = None if index == following[task] else (following[task], index - 1)
        if missing != expected or index < following[task]:
            yield f"turn {task}/{index} names {missing} as missing, not {expected}"
        following[task] = index + 1


def _logged_once(verdicts: Sequence[Json], logged: Sequence[Json]) -> Iterator[str]:
    accepted = Counter(v["cause"] for v in verdicts if v["verdict"] == "accepted")
    logged_causes = Counter(one["cause"] for one in logged)
    yield from (f"turn {place} was not logged once" for place in accepted - logged_causes)
    yield from (f"turn {place} was logged too often" for place in logged_causes - accepted)


def _verbatim(logged: Sequence[Json], thoughts: dict[tuple[str, int], str]) -> Iterator[str]:
    for one in logged:
        turn = one["turn"]
        place = turn["metadata"]["task_id"], turn["turn_index"]
        if turn["content"]["thought"] != thoughts[place]:
            yield f"the thought of {place} is not as sent"


def _streamed(events: Sequence[Json], thoughts: dict[tuple[str, int], str]) -> Iterator[str]:
    """Chunks of a stream, joined, are the thought of its turn, unless its session was turned back:
    what an agent says then belongs to the task that it was turned back to.
    """
    turned_back = {event["session_id"] for event in events if event["rewind_id"] is not None}
    for place, session in astray(events, thoughts).items():
        if session not in turned_back:
            yield f"the stream of {place} is not its thought"


def astray(
    events: Sequence[Json], thoughts: dict[tuple[str, int], str]
) -> dict[tuple[str, int], str]:
    """Sessions of the streams that are not the thought of their turn, by task and index."""
    chunks: dict[tuple[str, int], list[str]] = defaultdict(list)
    sessions: dict[tuple[str, int], str] = {}
    for event in events:
        if event["payload"]["type"] == "THOUGHT_STREAM":
            place = event["task_id"], event["payload"]["turn_index"]
            chunks[place].append(event["payload"]["chunk"])
            sessions[place] = event["session_id"]
    return {
        place: sessions[place]
        for place, parts in chunks.items()
        if place in thoughts and "".join(parts) != thoughts[place]
    }


def secrets_kept(source: Source, secrets: Iterable[str]) -> list[str]:
    """Topics in which a record holds a secret in its key, its value or its headers."""
    patterns = [secret.encode() for secret in secrets]
    leaks = []
    for topic in topics.ALL:
        if topic in UNMASKED:
            continue
        whole = b"\0".join(_bytes(source, topic))
        leaks += [f"{topic.name} keeps {one.decode()}" for one in patterns if one in whole]
    return leaks


def _bytes(source: Source, topic: Topic) -> Iterator[bytes]:
    for record in source.records(topic):
        yield record.key or b""
        yield record.value or b""
        for name, value in record.headers or ():
            yield name.encode() + value
