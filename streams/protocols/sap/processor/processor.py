"""The sap processor: every command gets one verdict, every accepted task one terminal outcome.

Tasks, Results and Signals are decided by the rules of their own modules; the cache's verdicts and
deadlines cause further transitions.  A decision writes the task's row once.

Source: SAP guide, 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from schemas.sap import rules
from streams.engine.processor import Message, ProcessorContext, Timer, TooLarge
from streams.engine.records import header, position
from streams.processing.decision import traceparent_of
from streams.protocols.sap.decision import DecisionContext
from streams.protocols.sap.processor import cache_replies, outcomes, results, signals, tasks
from streams.protocols.sap.processor.aggregate import DEADLINE, TaskAggregate, find_task
from streams.protocols.sap.processor.commands import Command, Verdict, send_ack
from topology.declarations import Topic
from topology.sap import (
    SAP_PROCESSOR,
    SAP_RESULT_HASHES,
    SAP_RESULTS,
    SAP_SIGNAL_IDS,
    SAP_SIGNALS,
    SAP_TASK_ENVELOPES,
    SAP_TASK_STATES_TABLE,
    SAP_TASKS,
    SAP_VERDICTS,
    sap_key,
)

_HANDLERS: Mapping[Topic, Callable[[Command, DecisionContext], None]] = {
    SAP_TASKS: tasks.decide,
    SAP_RESULTS: results.decide,
    SAP_SIGNALS: signals.decide,
}


class SapProcessor:
    """The processor of `sap.tasks`, `sap.results`, `sap.signals` and `sap.verdicts`."""

    declaration = SAP_PROCESSOR

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        inputs = [_read(message, ctx) for message in batch]
        _load(inputs, ctx)
        for item in inputs:
            if isinstance(item, Command):
                _HANDLERS[item.message.topic](item, _context(item, ctx))
            else:
                _apply(item, ctx)

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        ctx.rows(SAP_TASK_STATES_TABLE).load(timer.key for timer in timers)
        for timer in timers:
            _fire(timer, now_ms, ctx)

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        too_much = f"causes {size} bytes on {topic.name}, more than one record may"
        if message.topic is SAP_VERDICTS:
            _apply_briefly(message, f"its outcome {too_much}", ctx)
            return
        command = _command(message, ctx)
        if message.topic is SAP_TASKS and _is_decided_without_copy(command, ctx):
            return
        reason = f"The envelope {too_much}."
        verdict = Verdict(rules.TOO_LARGE.code, reason, fault="service")
        send_ack(command, verdict, _context(command, ctx))

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _read(message: Message, ctx: ProcessorContext) -> Command | Message:
    return message if message.topic is SAP_VERDICTS else _command(message, ctx)


def _command(message: Message, ctx: ProcessorContext) -> Command:
    return Command(message, strict=ctx.settings["SAP_EVIDENCE_WORDS"] == "strict")


def _load(inputs: Sequence[Command | Message], ctx: ProcessorContext) -> None:
    """Fetch the rows that a batch needs, in one call per table; for speed only."""
    states: list[str] = []
    envelopes: list[str] = []
    hashes: list[str] = []
    ids: list[str] = []
    for item in inputs:
        task_id = item.value["taskId"] if isinstance(item, Message) else item.task_id
        if task_id is None or (isinstance(item, Command) and item.problems):
            continue
        states.append(sap_key(task_id))
        if isinstance(item, Message) or item.kind != "task":
            envelopes.append(sap_key(task_id))
        if isinstance(item, Command) and item.kind == "result":
            hashes.append(results.hash_key(item))
        elif isinstance(item, Command) and item.kind == "signal":
            ids.append(signals.id_key(item))
    ctx.rows(SAP_TASK_STATES_TABLE).load(states)
    ctx.rows(SAP_TASK_ENVELOPES).load(envelopes)
    ctx.rows(SAP_RESULT_HASHES).load(hashes)
    ctx.rows(SAP_SIGNAL_IDS).load(ids)


def _context(command: Command, ctx: ProcessorContext) -> DecisionContext:
    return DecisionContext(ctx, command.cause, command.at, command.traceparent)


def _is_decided_without_copy(command: Command, ctx: ProcessorContext) -> bool:
    """Decide a task whose cached answer may be what is too large; return False if it is not."""
    if not ctx.settings["SAP_CACHE_COPY"]:
        return False
    failure = ctx.savepoint(
        lambda part: tasks.decide(command, _context(command, part), from_copy=False)
    )
    if failure is not None and not isinstance(failure, TooLarge):
        raise failure
    return failure is None


def _apply(message: Message, ctx: ProcessorContext, *, brief: bool = False) -> None:
    """Apply a verdict of the cache."""
    cache_replies.apply(_asking_task(message, ctx), message.value, brief=brief)


def _apply_briefly(message: Message, reason: str, ctx: ProcessorContext) -> None:
    """Apply one that causes too much: the task was accepted, so it goes on all the same."""
    failure = ctx.savepoint(lambda part: _apply(message, part, brief=True))
    if isinstance(failure, TooLarge):
        cache_replies.decline(_asking_task(message, ctx), message.value, reason)
    elif failure is not None:
        raise failure


def _asking_task(message: Message, context: ProcessorContext) -> TaskAggregate:
    """Return the task that a verdict answers."""
    verdict, record = message.value, message.record
    parent = header(record, "traceparent")
    ctx = DecisionContext(context, position(record), verdict["at"], parent)
    task = find_task(verdict["taskId"], ctx)
    assert task is not None, "the cache answers accepted tasks only"
    return task


def _fire(timer: Timer, now_ms: int, context: ProcessorContext) -> None:
    if timer.kind != DEADLINE:
        raise ValueError(f"{timer.kind} is no timer of sap")
    table = SAP_TASK_STATES_TABLE.name
    cause = f"timer/{context.partition}/{table}/{timer.key}@{timer.due_ms}"
    ctx = DecisionContext(context, cause, now_ms, traceparent_of(timer))
    task = find_task(timer.key, ctx)
    if task is not None:
        outcomes.expire_overdue(task)
