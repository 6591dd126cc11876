"""The saop processor: each turn gets one verdict, and its position in the order of its task's
turns.

For every record of `saop.turns`, in this order, the first that applies decides:

1. its shape violates a rule of the protocol;
2. `key_mismatch`, then `partition_mismatch`: another worker task has the order of its turns;
3. `output_too_large`: it could be held but not logged;
4. the table of 4.1 (`ordering`).

A held turn that was due before the record's time is released first, as of its own due time, whether
its timer has fired or not; so a decision depends on the times of records alone.

Source: SAOP guide, 5.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schemas import saop
from schemas.saop import rules
from streams.engine.processor import Message, ProcessorContext, Timer
from streams.engine.records import header, position
from streams.processing.decision import Decision
from streams.processing.envelope import partition_mismatch
from streams.protocols.saop.processor import escalations, journal, ordering
from streams.protocols.saop.processor.journal import WriteBudget
from streams.protocols.saop.processor.ordering import (
    Limits,
    TurnOrder,
    head_row,
    order_of,
    turn_key,
)
from streams.protocols.saop.processor.turn import TurnRecord, Verdict, send_verdict
from topology.declarations import Topic
from topology.keys import composite, split
from topology.retention import MIB
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
"""Maximum bytes of an envelope that can be logged with all the facts about it."""


class SaopProcessor:
    """The processor of `saop.turns`."""

    declaration = SAOP_PROCESSOR

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        inputs = [_read(message) for message in batch]
        _load_rows(inputs, ctx)
        for item in inputs:
            if isinstance(item, TurnRecord):
                _decide(item, item.decision(ctx))
            else:
                _obey(item, _signal_decision(item, ctx))

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        ctx.rows(SAOP_TURN_HEADS).load(_head_key(split(timer.key)[0]) for timer in timers)
        budget = WriteBudget()
        for timer in timers:
            decision = Decision(ctx, timer.data["cause"], now_ms)
            task_id, *index = split(timer.key)
            order = before = _order(task_id, ctx)
            if timer.kind == journal.HOLD:
                order = _expire(order, int(index[0]), now_ms)
            order = journal.write(task_id, order, None, budget, decision)
            decision.resume()
            _put_order(task_id, before, order, ctx)

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        if message.topic is SAOP_TASK_SIGNALS:
            raise ValueError(f"a signal causes {size} bytes on {topic.name}")
        turn = TurnRecord(message)
        send_verdict(turn, Verdict(rules.OUTPUT_TOO_LARGE), turn.decision(ctx))

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _read(message: Message) -> TurnRecord | Message:
    return message if message.topic is SAOP_TASK_SIGNALS else TurnRecord(message)


def _load_rows(inputs: Sequence[TurnRecord | Message], ctx: ProcessorContext) -> None:
    """Fetch the rows that the batch will ask for, in one call per table."""
    turns = [item for item in inputs if isinstance(item, TurnRecord)]
    ctx.rows(SAOP_TURN_HEADS).load(_head_key(_task_of(item)) for item in inputs)
    ctx.rows(SAOP_TURNS_KNOWN).load(turn_key(turn.task_id, turn.turn_index) for turn in turns)
    ctx.rows(SAOP_DETECTORS).load(composite(turn.task_id, turn.value["agent_id"]) for turn in turns)


def _task_of(item: TurnRecord | Message) -> str:
    return item.task_id if isinstance(item, TurnRecord) else str(item.value["task_id"])


def _signal_decision(message: Message, ctx: ProcessorContext) -> Decision:
    record = message.record
    return Decision(ctx, position(record), record.timestamp, header(record, "traceparent"))


def _obey(message: Message, decision: Decision) -> None:
    """Handle a signal of the rtes processor."""
    signal, work = message.value, decision.work
    if signal["kind"] == "failures":
        escalations.report_failures(message, decision)
        return
    task_id = signal["task_id"]
    before = _order(task_id, work)
    order = _expire_overdue(before, decision.at)
    order = journal.write(task_id, order, None, WriteBudget(), decision)
    match signal["kind"]:
        case "begun":
            order = order._replace(session_id=signal["session_id"])
        case "paused" | "resumed" | "rewound":
            order = order._replace(paused=signal["kind"] == "paused")
    _put_order(task_id, before, order, work)
    decision.resume()
    if signal["kind"] == "rewound":
        escalations.forget(task_id, work)


def _decide(turn: TurnRecord, decision: Decision) -> None:
    work = decision.work
    verdict = _check_record(turn, work)
    if verdict is not None:
        send_verdict(turn, verdict, decision)
        return
    task_id, index, limits = turn.task_id, turn.turn_index, _limits(work)
    before = _order(task_id, work)
    order = _expire_overdue(before, turn.at)
    verdict = _check_turn(turn, order, limits, work)
    send_verdict(turn, verdict, decision)

    accepted = None
    if verdict.kind == "accepted":
        accepted = turn.accept()
        size = journal.size_of(turn.size, turn.key)
        if verdict.rule is rules.TURN_LOGGED:
            order = ordering.log(order, index, size, turn.at)
        else:
            order = ordering.hold(order, index, size, turn.at, limits)
        row = {"canonical_hash": turn.canonical_hash, "position": turn.cause}
        work.rows(SAOP_TURNS_KNOWN).put(turn_key(task_id, index), row)
    order = journal.write(task_id, order, accepted, WriteBudget(), decision)
    decision.resume()
    _put_order(task_id, before, order, work)


def _check_record(turn: TurnRecord, ctx: ProcessorContext) -> Verdict | None:
    """Check what needs no look at the task: shape, key, partition, size."""
    problems = saop.validate_turn(turn.json, avro=True)
    if problems:
        return Verdict(_RULES[problems[0].rule], problems=problems)
    record, path = turn.message.record, "/metadata/task_id"
    if record.key != turn.key:
        sent = None if record.key is None else record.key.decode(errors="backslashreplace")
        return Verdict(rules.KEY_MISMATCH, {"key": sent, "expected": turn.task_id}, path)
    if partition_mismatch(turn.key, record.partition, ctx) is not None:
        return Verdict(rules.PARTITION_MISMATCH, path=path)
    return Verdict(rules.OUTPUT_TOO_LARGE) if turn.size > _LARGEST else None


def _check_turn(
    turn: TurnRecord, order: TurnOrder, limits: Limits, ctx: ProcessorContext
) -> Verdict:
    """Apply the table of 4.1; return the rule with its evidence."""
    known = ctx.rows(SAOP_TURNS_KNOWN).get(turn_key(turn.task_id, turn.turn_index))
    same = None if known is None else known["canonical_hash"] == turn.canonical_hash
    rule, path = ordering.check_turn(order, turn.turn_index, same, limits), "/turn_index"
    if known is not None:
        evidence = {"known_hash": known["canonical_hash"], "position": known["position"]}
        return Verdict(rule, evidence, path)
    if rule is rules.TASK_PAUSED:
        return Verdict(rule, {"session_id": order.session_id}, "/metadata/task_id")
    if rule is rules.TURN_TOO_FAR:
        return Verdict(rule, {"next": order.next, "limit": limits.max_ahead}, path)
    return Verdict(rule, {} if rule is rules.TURN_LOGGED else {"next": order.next}, path)


def _limits(ctx: ProcessorContext) -> Limits:
    settings = ctx.settings
    hold_ms = 1000 * settings["SAOP_HOLD_S"]
    return Limits(settings["SAOP_HOLD_TURNS"], hold_ms, settings["SAOP_MAX_AHEAD"])


def _expire_overdue(order: TurnOrder, now_ms: int) -> TurnOrder:
    for turn in ordering.overdue(order, now_ms):
        order = _expire(order, turn.turn_index, turn.due_at)
    return order


def _expire(order: TurnOrder, turn_index: int, now_ms: int) -> TurnOrder:
    """Release a turn whose time is up, unless it has been released meanwhile."""
    if all(turn.turn_index != turn_index for turn in order.buffered):
        return order
    return ordering.expire(order, turn_index, now_ms)


def _head_key(task_id: str) -> str:
    return composite(task_id)


def _order(task_id: str, ctx: ProcessorContext) -> TurnOrder:
    return order_of(ctx.rows(SAOP_TURN_HEADS).get(_head_key(task_id)))


def _put_order(task_id: str, before: TurnOrder, order: TurnOrder, ctx: ProcessorContext) -> None:
    if order != before:
        ctx.rows(SAOP_TURN_HEADS).put(_head_key(task_id), head_row(order))
