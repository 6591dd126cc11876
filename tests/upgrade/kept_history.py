"""What `write.py` has kept, in a log and a directory of this version."""

from __future__ import annotations

import base64
import json
import tarfile
from pathlib import Path
from typing import Any

from schemas import asap
from streams.engine.log import NewTopic
from streams.engine.memory import Clock, MemoryLog, MemoryTopic
from streams.engine.records import LogRecord
from streams.play import scenario as playing
from streams.play.scenario import Scenario
from streams.policy import COMPATIBLE
from streams.protocols.commands import all_processors
from streams.settings import Settings

KEPT = Path(__file__).parent / "kept"
Json = dict[str, Any]
SETTINGS = Settings.load({"HEADRACE_POLICY": str(COMPATIBLE)}, partitions=1)
"""By which earlier versions decided, where the default is another one now."""


def bytes_of(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


class History:
    """One kept scenario, unpacked into a folder."""

    def __init__(self, archive: Path, folder: Path) -> None:
        self.folder = folder
        with tarfile.open(archive) as archive_file:
            archive_file.extractall(folder, filter="data")
        self._told: Json = json.loads((folder / "log.json").read_text(encoding="utf-8"))
        self.lines: list[str] = self._told["lines"]
        self.middle: int = self._told["middle"]

    def upgraded(self, monkeypatch: Any) -> Scenario:
        """A scenario of this version that goes on where the other one stopped."""
        with monkeypatch.context() as patched:
            patched.setattr(playing, "MemoryLog", self.make_log)
            scenario = Scenario(SETTINGS, self.folder, all_processors)
        scenario.now = self._told["now"]
        scenario._begun, scenario._ids = self._told["begun"], self._told["ids"]
        return scenario

    def make_log(self, clock: Clock) -> MemoryLog:
        """Return the log that was kept."""
        log = MemoryLog(lambda: max(clock(), self._told["now"]))  # a store is not from the future
        log._cluster = self._told["cluster"]
        for name, topic in self._told["topics"].items():
            log._topics[name] = _topic(name, topic)
        log._ids = len(log._topics)  # those that this version adds come after
        return log


def _topic(name: str, topic_json: Json) -> MemoryTopic:
    topic = MemoryTopic(
        NewTopic(name, len(topic_json["slots"]), topic_json["config"]), topic_json["id"]
    )
    topic.starts = topic_json["starts"]
    for partition, slots in enumerate(topic_json["slots"]):
        topic.slots[partition] = [
            slot and _record(name, partition, offset, slot) for offset, slot in enumerate(slots)
        ]
    return topic


def _record(name: str, partition: int, offset: int, record_json: list[Any]) -> LogRecord:
    stamp, key, value, headers = record_json
    heads = [(one, base64.b64decode(text)) for one, text in headers]
    return LogRecord(name, partition, offset, stamp, bytes_of(key), bytes_of(value), heads)


def rest_of(scenario: Scenario, history: History) -> list[list[Json]]:
    """What each line of the second half brings about."""
    return [
        scenario.line(number, line)
        for number, line in enumerate(history.lines[history.middle :], history.middle + 1)
    ]


def whole(history: History, folder: Path, monkeypatch: Any) -> list[list[Json]]:
    """The same of this version alone, from the first line on.

    Edges of the versions that have kept their logs fill in no trace of an ASAP envelope, so the
    first half has none here either.
    """
    scenario = Scenario(SETTINGS, folder, all_processors)
    with monkeypatch.context() as patched:
        patched.setattr(asap, "derived_trace", lambda envelope: None)
        for number, line in enumerate(history.lines[: history.middle], 1):
            scenario.line(number, line)
    try:
        return rest_of(scenario, history)
    finally:
        scenario.close()
