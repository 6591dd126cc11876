"""The ids that a schema registry gave to the schemas of the catalogue."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from schemas import CATALOGUE, SchemaEntry, committed_id
from streams.errors import SchemasMismatch
from streams.registry.client import Registry
from streams.registry.subjects import Subject, subjects

UNKNOWN_S = 30.0
"""How long an id that the registry does not know is not asked for again."""
_MOST_UNKNOWN = 100_000
_HIGHEST = 2**31 - 1
_FRAME = b"\x00"


class RegistryIds:
    """A `schemas.Ids`.  Ids are asked for when they are first needed, or all at once (`load`).

    What they stand for never changes, so that each is asked for once.  Any thread may call.
    """

    def __init__(self, registry: Registry, prefix: str) -> None:
        self._registry = registry
        self._subject_of: dict[str, Subject] = {}
        for subject in subjects(prefix).values():
            self._subject_of.setdefault(subject.record, subject)
        self._written: dict[int, int] = {}
        self._committed: dict[int, int] = {}
        self._unknown: dict[int, float] = {}
        self._lock = threading.Lock()

    def load(self) -> None:
        """All ids of the catalogue's schemas.  Blocks; raises SchemasMismatch if one is missing."""
        for record in CATALOGUE.records():
            self.written(CATALOGUE.latest(record))

    def written(self, entry: SchemaEntry) -> int:
        """Blocks on the first call for a record.  Raises SchemasMismatch, RegistryUnavailable."""
        if entry.id not in self._written:
            self._ask_subject(self._subject_of[entry.record])
        found = self._written.get(entry.id)
        if found is None:
            name = self._subject_of[entry.record].name
            raise SchemasMismatch(f"{name} lacks version {entry.version} at the schema registry")
        return found

    def known(self, entry: SchemaEntry) -> int:
        """As far as is known without asking; the catalogue's own id else."""
        return self._written.get(entry.id, entry.id)

    def known_committed(self, id: int) -> int | None:
        """`committed`, as far as is known without asking."""
        return self._committed.get(id)

    def committed(self, id: int) -> int | None:
        """Blocks for an id that was not seen before.  Raises RegistryUnavailable."""
        known = self._committed.get(id)
        if known is not None or self._is_unknown(id):
            return known
        return self._ask_id(id, None)

    def missing(self, values: Iterable[bytes | None]) -> set[int]:
        """The ids of framed values that `committed` would ask for."""
        heads = {value[1:5] for value in values if value is not None and value[:1] == _FRAME}
        ids = {int.from_bytes(head, "big") for head in heads if len(head) == 4}
        return {
            id
            for id in ids
            if id not in CATALOGUE and id not in self._committed and not self._is_unknown(id)
        }

    def resolve(self, ids: Iterable[int]) -> None:
        """Ask for those not known yet, without waiting for a registry that is away.

        Raises RegistryUnavailable.
        """
        for id in ids:
            if id not in self._committed and not self._is_unknown(id):
                self._ask_id(id, 0.0)

    def close(self) -> None:
        self._registry.close()

    def _is_unknown(self, id: int) -> bool:
        return id > _HIGHEST or time.monotonic() - self._unknown.get(id, -UNKNOWN_S) < UNKNOWN_S

    def _ask_id(self, id: int, patience_s: float | None) -> int | None:
        schema = self._registry.schema(id, patience_s)
        found = None if schema is None else committed_id(schema)
        with self._lock:
            if found is not None:
                self._committed[id] = found
            else:
                if len(self._unknown) >= _MOST_UNKNOWN:
                    self._unknown.clear()
                self._unknown[id] = time.monotonic()
        return found

    def _ask_subject(self, subject: Subject) -> None:
        for version in self._registry.versions(subject.name):
            found = committed_id(version.schema)
            if found is None:
                continue
            _check_free(version.id, found)
            with self._lock:
                self._written[found] = version.id
                self._committed[version.id] = found


def _check_free(id: int, found: int) -> None:
    """Ids of the catalogue are read as the catalogue's.  Raises SchemasMismatch."""
    if id in CATALOGUE and id != found:
        raise SchemasMismatch(
            f"the schema registry gave the id {id}, which means another schema in the catalogue",
            advice="Use a registry whose ids are below 1,000,000,000, or one that took them over.",
        )
