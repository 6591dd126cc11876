"""Decides pings: one answer each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schemas import uuid5_url
from schemas.ping import rules
from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer
from streams.engine.records import position
from streams.processing.decision import Decision
from topology.declarations import Topic
from topology.machine import step
from topology.machines.ping import MACHINE, PingEvent, PingState
from topology.ping import PING_ANSWERS, PING_PROCESSOR, PING_STATES_TABLE


def judge(row: AvroValue | None, ping: AvroValue) -> tuple[str, rules.Rule, str]:
    """The verdict, its rule, and the state that the ping comes to."""
    state = PingState(row["state"]) if row else MACHINE.initial
    following = step(MACHINE, state, PingEvent.SENT)
    if row is None:
        return "accepted", rules.PING_ANSWERED, following
    return "duplicate", rules.PING_REPEATED, following


def evolve(row: AvroValue | None, answer: Mapping[str, Any]) -> AvroValue:
    """The row after one more answer."""
    return {
        "ping_id": answer["ping_id"],
        "sender": answer["sender"] if row is None else row["sender"],
        "state": answer["to_state"],
        "answers": 1 if row is None else row["answers"] + 1,
    }


class PingProcessor:
    declaration = PING_PROCESSOR

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        for message in batch:
            cause = position(message.record)
            _decide(Decision(ctx, cause, message.record.timestamp), message.value)

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        """There are no timers."""

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        raise ValueError(f"{size} bytes for {topic.name}, which takes {topic.max_bytes}")

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _decide(decision: Decision, ping: AvroValue) -> None:
    rows = decision.work.rows(PING_STATES_TABLE)
    row = rows.get(ping["ping_id"])
    verdict, rule, state = judge(row, ping)
    answer = {
        "answer_id": uuid5_url(f"headrace:{decision.cause}/0"),
        "verdict": verdict,
        "rule": rule.code,
        "ping_id": ping["ping_id"],
        "sender": ping["sender"],
        "to_state": state,
        "at": decision.at,
        "cause": decision.cause,
    }
    rows.put(ping["ping_id"], evolve(row, answer))
    decision.send(PING_ANSWERS, ping["ping_id"], answer, answer["answer_id"])
