"""Records of the processors that a bus shows, and their kinds in the transcript."""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas.sap import SapResult
from streams.engine.records import LogRecord
from streams.log.record_json import value_json
from streams.sdk.local_bus.envelopes import usable_id
from topology.declarations import Topic
from topology.sap import (
    SAP_ACKS,
    SAP_CACHE,
    SAP_HEURISTICS,
    SAP_INBOX,
    SAP_OUTCOMES,
    SAP_TASK_STATES,
)

Json = dict[str, Any]

ENTRY_KINDS = {
    SAP_ACKS: "ack",
    SAP_INBOX: "inbox",
    SAP_OUTCOMES: "outcome",
    SAP_CACHE: "cache",
    SAP_HEURISTICS: "heuristics",
}
_VISIBLE = {topic.name: topic for topic in (*ENTRY_KINDS, SAP_TASK_STATES)}


class Row(dict[str, Any]):
    """A JSON object whose members are attributes too, as those of the models are."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Written(NamedTuple):
    """A record of a processor that a bus shows."""

    topic: Topic
    value: Json
    at: int

    @property
    def entry_kind(self) -> str | None:
        return ENTRY_KINDS.get(self.topic)

    @property
    def task_id(self) -> str | None:
        return usable_id(self.value.get("taskId"))

    @property
    def correlation_id(self) -> str | None:
        return usable_id(self.value.get("correlationId"))


def decode_visible(record: LogRecord, prefix: str) -> Written | None:
    """Decode a record that a bus shows; return None for records internal to the processors."""
    topic = _VISIBLE.get(record.topic.removeprefix(prefix))
    return Written(topic, value_json(topic, record), record.timestamp) if topic else None


class Rows:
    """The outcomes, task rows and cache records written so far, by id."""

    def __init__(self) -> None:
        self._outcomes: dict[str, list[Json]] = {}
        self._tasks: dict[str, Json] = {}
        self._cache: dict[str, list[Json]] = {}

    def keep(self, written: Written) -> None:
        value = written.value
        if written.topic is SAP_OUTCOMES:
            self._outcomes.setdefault(value["taskId"].lower(), []).append(value)
        elif written.topic is SAP_TASK_STATES:
            self._tasks[value["taskId"].lower()] = value
        elif written.topic is SAP_CACHE:
            self._cache.setdefault(value["cacheKey"], []).append(value)

    def outcomes(self, task_id: str) -> list[SapResult]:
        return [SapResult.from_json(one) for one in self._outcomes.get(task_id.lower(), ())]

    def task(self, task_id: str) -> Row | None:
        row = self._tasks.get(task_id.lower())
        return None if row is None else Row(row)

    def cache(self, key: str) -> list[Row]:
        return [Row(record) for record in self._cache.get(key, ())]
