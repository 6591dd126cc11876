"""Each observation of a session is recorded once, in one order, or refused with a reason.

For every record of `rtes.raw`, in this order, the first that applies decides:

1. its shape breaks a rule of the protocol;
2. `key_mismatch`, then `partition_mismatch`: another task keeps the session's order;
3. `not_yet`: the type holds free text, which is not recorded before it can be masked;
4. its id is known in the session: `event_duplicate` or `event_id_conflict`;
5. its transition is not one that the task can make (`transitions`);
6. it is recorded, under the session's next sequence.

A refused event changes nothing: sent again, it is judged again.

Source: SAOP/RTES spec, 5.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemas.rtes import content_hash, event_json, rules, validate_event
from streams.engine.processor import AvroValue, Message, Timer, Work
from streams.engine.records import header, position
from streams.processors.rtes import dedupe, rejections, transitions, withheld
from streams.processors.rtes.profiles import profile_of
from streams.processors.rtes.rejections import Refusal
from streams.processors.rtes.transitions import Recorded
from topology import processors
from topology.declarations import Topic
from topology.keys import composite, partition_of, saop_task_key
from topology.tables import RTES_IDS, RTES_SESSIONS, SAOP_TASK_STATES
from topology.topics import RTES_EVENTS

_NEW_SESSION = {"last_sequence": 0, "last_recorded_at": 0}
_MAX_INT = 2**31 - 1
_RULES = {rule.code: rule for rule in rules.ALL}

Json = dict[str, Any]


class RtesProcessor:
    """The processor of `rtes.raw`."""

    declaration = processors.RTES

    def decide(self, batch: Sequence[Message], work: Work) -> None:
        _load(batch, work)
        for message in batch:
            work.cause = position(message.record)
            json_event = event_json(message.value)
            refusal = _misfit(message, json_event, work)
            if refusal is None:
                refusal = _judge(message, json_event, work)
            if refusal is not None:
                rejections.send(message, refusal, work)

    def fire(self, timers: Sequence[Timer], now_ms: int, work: Work) -> None:
        for timer in timers:
            dedupe.sweep(timer, work)

    def too_large(self, message: Message, topic: Topic, size: int, work: Work) -> None:
        rejections.send(message, Refusal(rules.OUTPUT_TOO_LARGE), work, keep_event=False)

    def dead_letter(self, topic: Topic, value: bytes | None) -> bytes | None:
        return withheld.dead_letter(value)


def _load(batch: Sequence[Message], work: Work) -> None:
    """Fetch the rows that the batch will ask for, in one call per table."""
    sessions: list[str] = []
    ids: list[str] = []
    tasks: list[str] = []
    for message in batch:
        event = message.value
        session_id, (name, payload) = event["session_id"], event["payload"]
        if name == withheld.RECORDABLE:
            sessions.append(composite(session_id))
            ids.append(dedupe.id_key(session_id, event["event_id"]))
            tasks.append(saop_task_key(session_id, payload["task_id"], event["origin"]))
    work.rows(RTES_SESSIONS).load(sessions)
    work.rows(RTES_IDS).load(ids)
    work.rows(SAOP_TASK_STATES).load(tasks)


def _misfit(message: Message, json_event: Json, work: Work) -> Refusal | None:
    """What can be said without looking at the session: shape, key, partition, type."""
    problems = validate_event(json_event, avro=True)
    if problems:
        return Refusal(_RULES[problems[0].rule], problems=problems)
    record, session_id = message.record, message.value["session_id"]
    key = session_id.encode()
    if record.key != key:
        given = None if record.key is None else record.key.decode(errors="backslashreplace")
        return Refusal(rules.KEY_MISMATCH, {"key": given, "expected": session_id}, "/session_id")
    if partition_of(key, work.partitions) != record.partition:
        return Refusal(rules.PARTITION_MISMATCH, path="/session_id")
    if message.value["payload"][0] != withheld.RECORDABLE:
        return Refusal(rules.NOT_YET, path="/payload/type")
    return None


def _judge(message: Message, json_event: Json, work: Work) -> Refusal | None:
    """Judge an event by its session, and record it if nothing is against it."""
    event = message.value
    session_id, origin, (_, transition) = event["session_id"], event["origin"], event["payload"]
    session = work.rows(RTES_SESSIONS).get(composite(session_id)) or _NEW_SESSION
    now_ms = max(message.record.timestamp, session["last_recorded_at"])
    digest = content_hash(json_event)

    id_key = dedupe.id_key(session_id, event["event_id"])
    known = dedupe.known(session, work.rows(RTES_IDS).get(id_key), now_ms, work)
    if known is not None:
        return _known(known, digest)

    task_key = saop_task_key(session_id, transition["task_id"], origin)
    row = transitions.standing(work.rows(SAOP_TASK_STATES).get(task_key), origin)
    profile = profile_of(transition["task_id"], origin, row, work.settings)
    found = transitions.judge(transition, origin, row, profile)
    if isinstance(found, Refusal):
        return found

    sequence = session["last_sequence"] + 1
    recorded = _record(message, found, row, sequence, now_ms)
    _send(message, recorded, work)
    work.rows(SAOP_TASK_STATES).put(task_key, transitions.evolve(row, recorded))
    given = {"last_sequence": sequence, "last_recorded_at": now_ms}
    work.rows(RTES_SESSIONS).put(composite(session_id), given)
    id_row = {"sequence": sequence, "content_hash": digest, "recorded_at": now_ms}
    dedupe.remember(id_key, id_row, work)
    return None


def _known(row: AvroValue, digest: str) -> Refusal:
    first = row["sequence"]
    if row["content_hash"] == digest:
        return Refusal(rules.EVENT_DUPLICATE, first_sequence=first)
    return Refusal(rules.EVENT_ID_CONFLICT, {"first_sequence": first}, "/event_id")


def _record(
    message: Message, found: Recorded, row: AvroValue | None, sequence: int, recorded_at: int
) -> AvroValue:
    event = message.value
    name, transition = event["payload"]
    states = {"from_state": found.from_state, "to_state": found.to_state}
    escalated = ("escalated",) if transitions.escalates(row, found) else ()
    return {
        "event_id": event["event_id"],
        "session_id": event["session_id"],
        "payload": (name, transition | states),
        "origin": event["origin"],
        "sequence": sequence,
        "recorded_at": recorded_at,
        "rule": found.rule.code,
        "task_id": transition["task_id"],
        "profile": found.profile.name,
        "flags": [*found.flags, *escalated],
        "masked_arguments": 0,
        "dropped_keys": _dropped_keys(header(message.record, "headrace-dropped-keys")),
        "rewind_id": None,
        "cause": position(message.record),
    }


def _send(message: Message, recorded: AvroValue, work: Work) -> None:
    work.send(
        RTES_EVENTS,
        recorded["session_id"],
        recorded,
        id=recorded["event_id"],
        at=recorded["recorded_at"],
        cause=recorded["cause"],
        traceparent=header(message.record, "traceparent"),
    )


def _dropped_keys(count: bytes | None) -> int:
    """How many unknown members an edge dropped; a header that is no number counts none."""
    if count is None or not count.isdigit():
        return 0
    return min(int(count[:11]), _MAX_INT)
