"""Each turn of a task gets one verdict, and its place in the order of the task's turns.

For every record of `saop.turns`, in this order, the first that applies decides:

1. its shape breaks a rule of the protocol;
2. `key_mismatch`, then `partition_mismatch`: another task keeps the order of its turns;
3. `output_too_large`: it could be held but not logged;
4. the table of 4.1 (`ordering`).

A held turn whose time was up before the record's is released first, as of its own time, whether
its timer has fired or not; so what a record meets depends on the times of records alone.

Source: SAOP/RTES spec, 5.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schemas import saop
from schemas.saop import rules
from streams.engine.processor import Message, Timer, Work
from streams.engine.records import position
from streams.protocols.saop.processor import escalations, journal, ordering, verdicts
from streams.protocols.saop.processor.inbound import Inbound
from streams.protocols.saop.processor.journal import Portion
from streams.protocols.saop.processor.ordering import Limits, Order
from streams.protocols.saop.processor.rows import head_row, order_of, turn_key
from streams.protocols.saop.processor.verdicts import LONGEST_ID, Ruling
from topology.declarations import Topic
from topology.keeping import MIB
from topology.keys import composite, partition_of, split
from topology.saop import (
    SAOP_DETECTORS,
    SAOP_LOG,
    SAOP_PROCESSOR,
    SAOP_TASK_SIGNALS,
    SAOP_TURN_HEADS,
    SAOP_TURNS_KNOWN,
)

_RULES = {rule.code: rule for rule in rules.ALL}
_LARGEST = SAOP_LOG.max_bytes - MIB
"""Bytes of an envelope that can be logged with all that is said of it."""


class SaopProcessor:
    """The processor of `saop.turns`."""

    declaration = SAOP_PROCESSOR

    def decide(self, batch: Sequence[Message], work: Work) -> None:
        inputs = [_read(message) for message in batch]
        _load(inputs, work)
        for item in inputs:
            if isinstance(item, Inbound):
                work.cause = item.cause
                _judge(item, work)
            else:
                work.cause = position(item.record)
                _obey(item, work)

    def fire(self, timers: Sequence[Timer], now_ms: int, work: Work) -> None:
        work.rows(SAOP_TURN_HEADS).load(_head_key(split(timer.key)[0]) for timer in timers)
        portion = Portion()
        for timer in timers:
            work.cause = timer.data["cause"]
            task_id, *rest = split(timer.key)
            order = before = _order(task_id, work)
            if timer.kind == journal.HOLD:
                order = _expire(order, int(rest[0]), now_ms)
            order = journal.write(task_id, order, None, portion, now_ms, work)
            work.cause = timer.data["cause"]
            _keep(task_id, before, order, work)

    def too_large(self, message: Message, topic: Topic, size: int, work: Work) -> None:
        if message.topic is SAOP_TASK_SIGNALS:
            raise ValueError(f"a signal causes {size} bytes on {topic.name}")
        verdicts.send(Inbound(message), Ruling(rules.OUTPUT_TOO_LARGE), work)

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _read(message: Message) -> Inbound | Message:
    return message if message.topic is SAOP_TASK_SIGNALS else Inbound(message)


def _load(inputs: Sequence[Inbound | Message], work: Work) -> None:
    """Fetch the rows that the batch will ask for, in one call per table."""
    turns = [item for item in inputs if isinstance(item, Inbound)]
    work.rows(SAOP_TURN_HEADS).load(_head_key(turn.task_id) for turn in turns)
    work.rows(SAOP_TURNS_KNOWN).load(turn_key(turn.task_id, turn.turn_index) for turn in turns)
    work.rows(SAOP_DETECTORS).load(
        composite(turn.task_id, turn.value["agent_id"]) for turn in turns
    )


def _obey(message: Message, work: Work) -> None:
    """A signal of the rtes processor."""
    signal = message.value
    if signal["kind"] == "failures":
        escalations.report_failures(message, work)
        return
    task_id, at = signal["task_id"], message.record.timestamp
    before = _order(task_id, work)
    order = _expire_overdue(before, at)
    order = journal.write(task_id, order, None, Portion(), at, work)
    _keep(task_id, before, order, work)
    work.cause = position(message.record)
    escalations.forget(task_id, work)


def _judge(turn: Inbound, work: Work) -> None:
    ruling = _misfit(turn, work)
    if ruling is not None:
        verdicts.send(turn, ruling, work)
        return
    task_id, index, limits = turn.task_id, turn.turn_index, _limits(work)
    before = _order(task_id, work)
    order = _expire_overdue(before, turn.at)
    ruling = _placed(turn, order, limits, work)
    verdicts.send(turn, ruling, work)

    accepted = None
    if ruling.verdict == "accepted":
        accepted = turn.turn()
        size = journal.size_of(turn.size, turn.key)
        if ruling.rule is rules.TURN_LOGGED:
            order = ordering.log(order, index, size, turn.at)
        else:
            order = ordering.hold(order, index, size, turn.at, limits)
        row = {"canonical_hash": turn.canonical_hash, "position": turn.cause}
        work.rows(SAOP_TURNS_KNOWN).put(turn_key(task_id, index), row)
    order = journal.write(task_id, order, accepted, Portion(), turn.at, work)
    work.cause = turn.cause
    _keep(task_id, before, order, work)


def _misfit(turn: Inbound, work: Work) -> Ruling | None:
    """What can be said without looking at the task: shape, key, partition, size."""
    problems = saop.validate_turn(turn.json, avro=True)
    if problems:
        return Ruling(_RULES[problems[0].rule], problems=problems)
    record, path = turn.message.record, "/metadata/task_id"
    if record.key != turn.key:
        given = None if record.key is None else record.key.decode(errors="backslashreplace")
        return Ruling(rules.KEY_MISMATCH, {"key": given, "expected": turn.task_id}, path)
    if partition_of(turn.key, work.partitions) != record.partition:
        return Ruling(rules.PARTITION_MISMATCH, path=path)
    if len(turn.key) > LONGEST_ID:
        return Ruling(rules.OUTPUT_TOO_LARGE, path=path)
    return Ruling(rules.OUTPUT_TOO_LARGE) if turn.size > _LARGEST else None


def _placed(turn: Inbound, order: Order, limits: Limits, work: Work) -> Ruling:
    """What the table of 4.1 says, with the figures of the rule."""
    known = work.rows(SAOP_TURNS_KNOWN).get(turn_key(turn.task_id, turn.turn_index))
    same = None if known is None else known["canonical_hash"] == turn.canonical_hash
    rule, path = ordering.judge(order, turn.turn_index, same, limits), "/turn_index"
    if known is not None:
        figures = {"known_hash": known["canonical_hash"], "position": known["position"]}
        return Ruling(rule, figures, path)
    if rule is rules.TURN_TOO_FAR:
        return Ruling(rule, {"next": order.next, "limit": limits.max_ahead}, path)
    return Ruling(rule, {} if rule is rules.TURN_LOGGED else {"next": order.next}, path)


def _limits(work: Work) -> Limits:
    settings = work.settings
    hold_ms = 1000 * settings["SAOP_HOLD_S"]
    return Limits(settings["SAOP_HOLD_TURNS"], hold_ms, settings["SAOP_MAX_AHEAD"])


def _expire_overdue(order: Order, now_ms: int) -> Order:
    for place in ordering.overdue(order, now_ms):
        order = _expire(order, place.turn_index, place.due_at)
    return order


def _expire(order: Order, turn_index: int, now_ms: int) -> Order:
    """Nothing happens to a turn that has been released meanwhile."""
    if all(place.turn_index != turn_index for place in order.held):
        return order
    return ordering.expire(order, turn_index, now_ms)


def _head_key(task_id: str) -> str:
    return composite(task_id)


def _order(task_id: str, work: Work) -> Order:
    return order_of(work.rows(SAOP_TURN_HEADS).get(_head_key(task_id)))


def _keep(task_id: str, before: Order, order: Order, work: Work) -> None:
    if order != before:
        work.rows(SAOP_TURN_HEADS).put(_head_key(task_id), head_row(order))
