"""The asap processor: every envelope gets one verdict, every task and every call one end.

Each payload has its handler.  A request gets data of other keys over links, which this processor
writes and reads itself; manifests get verdicts like any command.

Source: ASAP guide, 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from streams.engine.processor import Message, ProcessorContext, Timer
from streams.protocols.asap.processor import (
    admission,
    calls,
    deadlines,
    dispatch,
    held,
    manifests,
    verdicts,
)
from streams.protocols.asap.processor.command import Command
from streams.protocols.asap.processor.decision import (
    TTL_TABLES,
    DecisionContext,
    expire,
    timer_context,
)
from streams.protocols.asap.processor.task import EXPIRY, TASK
from topology.asap import (
    ASAP_ADMISSIONS,
    ASAP_CALLS,
    ASAP_ENVELOPES,
    ASAP_LINKS,
    ASAP_PROCESSOR,
    ASAP_SEEN,
    ASAP_TASKS_TABLE,
    ASAP_VERSIONS,
)
from topology.declarations import Topic
from topology.keys import composite

_TIMERS: Mapping[str, Callable[[Timer, ProcessorContext], None]] = {
    TASK: deadlines.time_out_due,
    EXPIRY: deadlines.expire_events,
    calls.CALL: calls.time_out_due,
    dispatch.DRAIN: dispatch.drain,
    **dict.fromkeys(TTL_TABLES, expire),
}
_END_TIMERS = frozenset({TASK, EXPIRY, calls.CALL})
"""Timers that end a task or a call: records from before the due time are decided first."""


class AsapProcessor:
    """The processor of `asap.envelopes`, `asap.links` and `asap.manifests`."""

    declaration = ASAP_PROCESSOR

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        inputs = [_read(message, ctx) for message in batch]
        _preload(inputs, ctx)
        for item in inputs:
            if isinstance(item, Command):
                dispatch.decide(item, _context(item, ctx))
            elif item.topic is ASAP_LINKS:
                dispatch.apply_link(item, ctx)
            else:
                manifests.handle_manifest(item, ctx)

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        _preload_timers(timers, ctx)
        for timer in timers:
            if timer.kind == admission.ASK:
                dispatch.ask_again(timer, now_ms, ctx)
            elif timer.kind in _END_TIMERS and held.is_draining(timer.key, ctx):
                timer_context(timer, ctx).set_timer(timer.due_ms, timer.kind, timer.key)
            else:
                _TIMERS[timer.kind](timer, ctx)

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        if message.topic is not ASAP_ENVELOPES:
            raise ValueError(f"a record of {message.topic.name} causes {size} on {topic.name}")
        command = Command.of(message, ctx.settings)
        verdicts.publish(command, verdicts.too_large(topic, size), _context(command, ctx))

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _read(message: Message, ctx: ProcessorContext) -> Command | Message:
    return Command.of(message, ctx.settings) if message.topic is ASAP_ENVELOPES else message


def _context(command: Command, ctx: ProcessorContext) -> DecisionContext:
    return DecisionContext(ctx, command.cause, command.at, command.traceparent)


def _preload(inputs: Sequence[Command | Message], ctx: ProcessorContext) -> None:
    """Fetch the rows of a batch in one call per table, for speed only."""
    task_keys: list[str] = []
    call_keys: list[str] = []
    seen_keys: list[str] = []
    versions: list[str] = []
    for item in inputs:
        if isinstance(item, Message) or item.problems:
            continue
        keys = call_keys if item.kind in calls.HANDLERS else task_keys
        keys.append(composite(item.task_key))
        seen_keys.append(verdicts.seen_key(item))
        if item.value["extensions_json"] is not None or item.body.get("final_state") is not None:
            versions.append(composite(item.task_key))
    ctx.rows(ASAP_ADMISSIONS).load([*task_keys, *call_keys])
    ctx.rows(ASAP_TASKS_TABLE).load(task_keys)
    ctx.rows(ASAP_CALLS).load(call_keys)
    ctx.rows(ASAP_SEEN).load(seen_keys)
    ctx.rows(ASAP_VERSIONS).load(versions)


def _preload_timers(timers: Sequence[Timer], ctx: ProcessorContext) -> None:
    ends = [composite(timer.key) for timer in timers if timer.kind in (TASK, EXPIRY)]
    ctx.rows(ASAP_TASKS_TABLE).load(ends)
    ctx.rows(ASAP_ADMISSIONS).load(ends)
    for kind, expiring in TTL_TABLES.items():
        ctx.rows(expiring.table).load(timer.key for timer in timers if timer.kind == kind)
