"""The sap processor: every command gets one verdict, every accepted task one end.

Tasks, Results and Signals are judged by the rules of their own files; the cache's answers and the
deadlines move tasks on.  A decision writes the task's row once.

Source: SAP spec, 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from schemas.sap import rules
from streams.engine.processor import Message, Timer, TooLarge, Work
from streams.engine.records import header, position
from streams.processing.decision import traceparent_of
from streams.protocols.sap.constitution import constitution_of
from streams.protocols.sap.processor import (
    acks,
    deadlines,
    preload,
    results,
    signals,
    tasks,
    verdicts,
)
from streams.protocols.sap.processor.acks import Ruling
from streams.protocols.sap.processor.case import DEADLINE, Case, find
from streams.protocols.sap.processor.inbound import Command
from streams.protocols.sap.processor.scene import Scene
from topology.declarations import Topic
from topology.sap import (
    SAP_PROCESSOR,
    SAP_RESULTS,
    SAP_SIGNALS,
    SAP_TASK_STATES_TABLE,
    SAP_TASKS,
    SAP_VERDICTS,
)

_JUDGES: Mapping[Topic, Callable[[Command, Scene], None]] = {
    SAP_TASKS: tasks.judge,
    SAP_RESULTS: results.judge,
    SAP_SIGNALS: signals.judge,
}


class SapProcessor:
    """The processor of `sap.tasks`, `sap.results`, `sap.signals` and `sap.verdicts`."""

    declaration = SAP_PROCESSOR

    def decide(self, batch: Sequence[Message], work: Work) -> None:
        inputs = [_read(message) for message in batch]
        preload.load(inputs, work)
        for item in inputs:
            if isinstance(item, Command):
                _JUDGES[item.message.topic](item, _scene(item, work))
            else:
                _apply(item, work)

    def fire(self, timers: Sequence[Timer], now_ms: int, work: Work) -> None:
        work.rows(SAP_TASK_STATES_TABLE).load(timer.key for timer in timers)
        for timer in timers:
            _fire(timer, now_ms, work)

    def too_large(self, message: Message, topic: Topic, size: int, work: Work) -> None:
        too_much = f"causes {size} bytes on {topic.name}, more than one record may"
        if message.topic is SAP_VERDICTS:
            _apply_briefly(message, f"its outcome {too_much}", work)
            return
        command = Command(message)
        reason = f"The envelope {too_much}."
        ruling = Ruling(rules.TOO_LARGE.code, reason, fault="service")
        acks.send(command, ruling, _scene(command, work))

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _read(message: Message) -> Command | Message:
    return message if message.topic is SAP_VERDICTS else Command(message)


def _scene(command: Command, work: Work) -> Scene:
    constitution = constitution_of(work.settings)
    return Scene(work, constitution, command.cause, command.at, command.traceparent)


def _apply(message: Message, work: Work, *, brief: bool = False) -> None:
    """A verdict of the cache."""
    verdicts.apply(_asker(message, work), message.value, brief=brief)


def _apply_briefly(message: Message, reason: str, work: Work) -> None:
    """One that causes too much: the task was accepted, so it goes on all the same."""
    failure = work.attempt(lambda part: _apply(message, part, brief=True))
    if isinstance(failure, TooLarge):
        verdicts.decline(_asker(message, work), message.value, reason)
    elif failure is not None:
        raise failure


def _asker(message: Message, work: Work) -> Case:
    """The task that a verdict answers."""
    verdict, record = message.value, message.record
    constitution, parent = constitution_of(work.settings), header(record, "traceparent")
    scene = Scene(work, constitution, position(record), verdict["at"], parent)
    case = find(verdict["taskId"], scene)
    assert case is not None, "the cache answers accepted tasks only"
    return case


def _fire(timer: Timer, now_ms: int, work: Work) -> None:
    if timer.kind != DEADLINE:
        raise ValueError(f"{timer.kind} is no timer of sap")
    table = SAP_TASK_STATES_TABLE.name
    cause = f"timer/{work.partition}/{table}/{timer.key}@{timer.due_ms}"
    scene = Scene(work, constitution_of(work.settings), cause, now_ms, traceparent_of(timer))
    case = find(timer.key, scene)
    if case is not None:
        deadlines.expire_overdue(case)
