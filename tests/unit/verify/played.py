"""Scenarios played to their end, whose log can then be verified, and spoiled."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from schemas import decode, encode
from streams.engine.log import Log
from streams.engine.records import LogRecord, TopicPartition
from streams.play.scenario import Scenario
from streams.protocols.commands import all_processors, bind_files
from streams.settings import Settings
from streams.verify.report import Report
from streams.verify.run import verify
from topology.declarations import Topic

FILES = Path(__file__).resolve().parents[3] / "scenarios"
NAMES = sorted(path.stem for path in FILES.glob("*.jsonl"))
OTHER: dict[str, dict[str, Any]] = {
    "sap-rate-limit": {"sap_rate": Decimal("0.5"), "sap_burst": Decimal(2)}
}
"""Settings of the scenarios that do not run with the defaults."""


class Played:
    """One scenario.  Close it."""

    def __init__(
        self,
        name: str,
        folder: Path,
        partitions: int = 1,
        *,
        whole: bool = True,
        **changes: Any,
    ) -> None:
        self.settings = Settings(partitions=partitions, **OTHER.get(name, {}), **changes)
        bind_files(self.settings)
        self._scenario = Scenario(self.settings, folder / "state", all_processors)
        self._folder, self._runs = folder, 0
        lines = (FILES / f"{name}.jsonl").read_text().splitlines()
        self._lines = deque((n, line) for n, line in enumerate(lines, 1) if line.strip())
        self.log = self._scenario.log
        if whole:
            self.go_on(len(self._lines))

    @property
    def left(self) -> int:
        """Lines that are still to be played."""
        return len(self._lines)

    def go_on(self, count: int) -> None:
        for _ in range(min(count, self.left)):
            self._scenario.line(*self._lines.popleft())

    def verify(self, log: Log | None = None) -> Report:
        self._runs += 1
        folder = self._folder / f"run-{self._runs}"
        folder.mkdir()
        return verify(log or self.log, self.settings, folder)

    def places(self, topic: Topic) -> Iterator[tuple[TopicPartition, int, LogRecord]]:
        for number in range(self.settings.partitions):
            tp = TopicPartition(topic.name, number)
            for offset, record in enumerate(self.log.slots(tp)):
                if record is not None:
                    yield tp, offset, record

    def put(self, tp: TopicPartition, offset: int, record: LogRecord | None) -> None:
        self.log.slots(tp)[offset] = record

    def change(self, topic: Topic, change: Callable[[Any], Any], predicate: Any = None) -> str:
        """Change the value of the first record that `predicate` takes; returns its position."""
        for tp, offset, record in self.places(topic):
            value = decode(record.value, topic.record or "").value
            if predicate is not None and not predicate(value):
                continue
            spoiled = copy.deepcopy(value)
            change(spoiled)
            self.put(tp, offset, record._replace(value=encode(topic.record or "", spoiled)))
            return f"{tp.topic}/{tp.partition}/{offset}"
        raise AssertionError(f"no such record on {topic.name}")

    def close(self) -> None:
        self._scenario.close()
