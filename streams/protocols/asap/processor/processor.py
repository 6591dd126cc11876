"""The asap processor: every envelope gets one verdict, every task and every call one end.

Envelopes are judged by the rules of their own files.  What a request needs to know of other keys
comes by links, which this processor writes and reads itself; manifests get verdicts like any
command.

Source: ASAP spec, 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from streams.engine.processor import Message, Timer, Work
from streams.protocols.asap.processor import (
    admission,
    calls,
    case,
    deadlines,
    dispatch,
    held,
    links,
    manifests,
    preload,
    publishing,
    sweeping,
    verdicts,
)
from streams.protocols.asap.processor.inbound import Command
from streams.protocols.asap.processor.scene import Scene, of_timer
from topology.asap import ASAP_ENVELOPES, ASAP_LINKS, ASAP_PROCESSOR
from topology.declarations import Topic

_TIMERS: Mapping[str, Callable[[Timer, Work], None]] = {
    case.TASK: deadlines.fire,
    case.EXPIRY: deadlines.expire,
    calls.CALL: calls.fire,
    links.DRAIN: links.drain,
    **dict.fromkeys(sweeping.MEMORIES, sweeping.sweep),
}
_ENDS = frozenset({case.TASK, case.EXPIRY, calls.CALL})
"""Timers that end something: what came before they were due still counts."""


class AsapProcessor:
    """The processor of `asap.envelopes`, `asap.links` and `asap.manifests`."""

    declaration = ASAP_PROCESSOR

    def decide(self, batch: Sequence[Message], work: Work) -> None:
        inputs = [_read(message, work) for message in batch]
        preload.load(inputs, work)
        for item in inputs:
            if isinstance(item, Command):
                dispatch.decide(item, _scene(item, work))
            elif item.topic is ASAP_LINKS:
                links.apply(item, work)
            else:
                manifests.judge(item, work)

    def fire(self, timers: Sequence[Timer], now_ms: int, work: Work) -> None:
        preload.load_timers(timers, work)
        for timer in timers:
            if timer.kind == admission.ASK:
                links.ask_again(timer, now_ms, work)
            elif timer.kind in _ENDS and held.is_draining(timer.key, work):
                of_timer(timer, work).set_timer(timer.due_ms, timer.kind, timer.key)
            else:
                _TIMERS[timer.kind](timer, work)

    def too_large(self, message: Message, topic: Topic, size: int, work: Work) -> None:
        if message.topic is not ASAP_ENVELOPES:
            raise ValueError(f"a record of {message.topic.name} causes {size} on {topic.name}")
        command = Command.of(message, work.settings)
        publishing.publish(command, verdicts.too_large(topic, size), _scene(command, work))

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _read(message: Message, work: Work) -> Command | Message:
    return Command.of(message, work.settings) if message.topic is ASAP_ENVELOPES else message


def _scene(command: Command, work: Work) -> Scene:
    return Scene(work, command.cause, command.at, command.traceparent)
