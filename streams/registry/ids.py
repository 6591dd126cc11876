"""The ids that a schema registry assigned to the catalogue's schemas."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from schemas import CATALOGUE, SchemaEntry, committed_id
from streams.errors import SchemasMismatch
from streams.registry.client import Registry
from streams.registry.subjects import Subject, subjects

UNKNOWN_S = 30.0
"""How long an id that the registry does not know is not requested again."""
_MAX_UNKNOWN = 100_000
_MAX_ID = 2**31 - 1
_MAGIC_BYTE = b"\x00"


class RegistryIds:
    """The schema ids of a registry, as a `schemas.Ids`.

    Ids are requested when they are first needed, or all at once (`load`).  An id never changes its
    meaning, so each is requested once.  Safe to call from any thread.
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
        """Fetch the ids of all schemas of the catalogue.  Blocks; raises SchemasMismatch."""
        for record in CATALOGUE.records():
            self.written(CATALOGUE.latest(record))

    def written(self, entry: SchemaEntry) -> int:
        """Return the registry's id for a schema of the catalogue.

        Blocks on the first call for a record.  Raises SchemasMismatch, RegistryUnavailable.
        """
        if entry.id not in self._written:
            self._request_subject(self._subject_of[entry.record])
        registry_id = self._written.get(entry.id)
        if registry_id is None:
            name = self._subject_of[entry.record].name
            raise SchemasMismatch(f"{name} lacks version {entry.version} at the schema registry")
        return registry_id

    def known(self, entry: SchemaEntry) -> int:
        """Return the registry's id if it is known without a request, else the catalogue's own."""
        return self._written.get(entry.id, entry.id)

    def known_committed(self, id: int) -> int | None:
        """Return the same as `committed` without a request, None if the id is not known."""
        return self._committed.get(id)

    def committed(self, id: int) -> int | None:
        """Return the catalogue's id for a registry's id, None if the catalogue lacks the schema.

        Blocks for an id that was not seen before.  Raises RegistryUnavailable.
        """
        known = self._committed.get(id)
        if known is not None or self._is_unknown(id):
            return known
        return self._request_id(id, None)

    def missing(self, values: Iterable[bytes | None]) -> set[int]:
        """Return the ids of framed values that `committed` would request."""
        heads = {value[1:5] for value in values if value is not None and value[:1] == _MAGIC_BYTE}
        ids = {int.from_bytes(head, "big") for head in heads if len(head) == 4}
        return {
            id
            for id in ids
            if id not in CATALOGUE and id not in self._committed and not self._is_unknown(id)
        }

    def resolve(self, ids: Iterable[int]) -> None:
        """Request the ids that are not known yet, without retries.  Raises RegistryUnavailable."""
        for id in ids:
            if id not in self._committed and not self._is_unknown(id):
                self._request_id(id, 0.0)

    def close(self) -> None:
        self._registry.close()

    def _is_unknown(self, id: int) -> bool:
        return id > _MAX_ID or time.monotonic() - self._unknown.get(id, -UNKNOWN_S) < UNKNOWN_S

    def _request_id(self, id: int, patience_s: float | None) -> int | None:
        schema = self._registry.schema(id, patience_s)
        catalogue_id = None if schema is None else committed_id(schema)
        with self._lock:
            if catalogue_id is not None:
                self._committed[id] = catalogue_id
            else:
                if len(self._unknown) >= _MAX_UNKNOWN:
                    self._unknown.clear()
                self._unknown[id] = time.monotonic()
        return catalogue_id

    def _request_subject(self, subject: Subject) -> None:
        for version in self._registry.versions(subject.name):
            catalogue_id = committed_id(version.schema)
            if catalogue_id is None:
                continue
            _check_conflict(version.id, catalogue_id)
            with self._lock:
                self._written[catalogue_id] = version.id
                self._committed[version.id] = catalogue_id


def _check_conflict(id: int, catalogue_id: int) -> None:
    """Raise SchemasMismatch if the registry uses an id of the catalogue for another schema."""
    if id in CATALOGUE and id != catalogue_id:
        raise SchemasMismatch(
            f"the schema registry gave the id {id}, which means another schema in the catalogue",
            advice="Use a registry whose ids are below 1,000,000,000, or one that took them over.",
        )
