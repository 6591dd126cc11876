"""A schema registry in memory: what `RegistryIds` and `register` ask of one."""

from __future__ import annotations

from typing import Any

from schemas import SchemaEntry
from streams.errors import RegistryUnavailable
from streams.registry.client import RegisteredVersion


class FakeRegistry:
    """Ids count up from `next_id`, one for each text.  away: it does not answer.

    asked: the ids that were asked for.
    """

    def __init__(self, next_id: int = 1) -> None:
        self.away = False
        self.asked: list[int] = []
        self.kept: list[str] = []
        self.subjects: dict[str, list[Any]] = {}
        self._next_id = next_id
        self._ids: list[tuple[int, Any]] = []

    def close(self) -> None:
        self.away = True

    def schema(self, id: int, patience_s: float | None = None) -> Any | None:
        self._answers()
        self.asked.append(id)
        return dict(self._ids).get(id)

    def versions(self, subject: str) -> list[RegisteredVersion]:
        self._answers()
        there = enumerate(self.subjects.get(subject, ()), 1)
        return [RegisteredVersion(self._id(schema), number, schema) for number, schema in there][
            ::-1
        ]

    def register(self, subject: str, entry: SchemaEntry) -> int:
        return self.add(subject, entry.schema)

    def keep_compatible(self, subject: str) -> None:
        self.kept.append(subject)

    def add(self, subject: str, schema: Any) -> int:
        """What anyone may register."""
        self._answers()
        self.subjects.setdefault(subject, []).append(schema)
        return self._id(schema)

    def _id(self, schema: Any) -> int:
        for id, known in self._ids:
            if known == schema:
                return id
        self._ids.append((self._next_id, schema))
        self._next_id += 1
        return self._next_id - 1

    def _answers(self) -> None:
        if self.away:
            raise RegistryUnavailable("no registry answers")
