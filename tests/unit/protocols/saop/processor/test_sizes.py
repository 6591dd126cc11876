"""Turns as large as they may be, through the engine with its limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from schemas import decode, encode
from schemas.formats import MAX_ID
from streams.engine.processor import Message
from streams.engine.records import LogRecord, Output
from streams.engine.rows import Bytes
from streams.engine.work import Context, StepContext, timer_of
from streams.play.scenario import play
from streams.protocols.saop.processor import SaopProcessor
from streams.protocols.saop.processor.processor import _LARGEST
from streams.settings import Settings
from tests.unit.protocols.saop.processor.support import START_MS, envelope
from topology.core import TIMERS
from topology.retention import MIB
from topology.saop import SAOP_LOG, SAOP_TURNS


class EngineStep:
    """A processor with the engine's own rows and limits, over a dict."""

    def __init__(self) -> None:
        self.processor = SaopProcessor()
        self.rows: Bytes = {}
        self._context = Context(0, 1, "", Settings.load({}).as_work())

    def work(self) -> StepContext:
        return StepContext(self.processor.declaration, self._context, self._read)

    def _read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.rows.get(key) for key in keys]

    def keep(self, ctx: StepContext) -> list[Output]:
        effects = ctx.encode()
        self.rows.update(effects.rows)
        return effects.outputs

    def judge(self, turn: dict[str, Any], offset: int) -> list[Output]:
        raw, key = encode("headrace.saop.SaopTurn", turn), turn["metadata"]["task_id"].encode()
        read = decode(raw, "headrace.saop.SaopTurn")
        record = LogRecord("saop.turns", 0, offset, START_MS + offset, key, raw)
        work = self.work()
        message = Message(SAOP_TURNS, record, read.value, read.body, read.current)
        self.processor.decide([message], work)
        return self.keep(work)

    def fire(self) -> list[Output]:
        """Every timer there is."""
        timers = [
            timer_of(key.split(b"\0", 1)[1].decode(), decode(raw, TIMERS.record).value["data"])[1]
            for key, raw in self.rows.items()
            if key.startswith(b"timers\0") and raw is not None
        ]
        work = self.work()
        self.processor.fire(timers, START_MS + 100_000, work)
        return self.keep(work)


@pytest.mark.parametrize("letter", ["t", "/", "✓"])
def test_the_longest_id_with_the_largest_turn_is_held_and_logged(letter: str) -> None:
    engine_step = EngineStep()
    task = letter * (MAX_ID)
    room = _LARGEST - len(encode("headrace.saop.SaopTurn", envelope(3, task=task)))
    outputs = engine_step.judge(envelope(3, task=task, thought="x" * room), 0)
    assert "saop.log" not in [output.topic for output in outputs]
    logged = [output for output in engine_step.fire() if output.topic == SAOP_LOG.name]
    assert len(logged) == 1
    assert logged[0].key == task.encode()


def test_65_turns_of_a_megabyte_in_the_wrong_order() -> None:
    order = [*range(64, 0, -1), 0]
    turns = [envelope(index, thought=chr(48 + index) * MIB) for index in order]
    lines = [json.dumps({"topic": "saop.turns", "value": turn}) for turn in turns]
    outputs = list(play(lines, Settings(partitions=1)))
    log = [o["value"]["turn"] for o in outputs if o["topic"] == "saop.log"]
    assert log == turns[::-1]
    assert {o["input"] for o in outputs if o["topic"] == "saop.log"} == {65}
