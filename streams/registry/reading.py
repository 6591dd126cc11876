"""The read API of Confluent's schema registry over the catalogue.

Pure functions: from what a request names to a response with its JSON.  Error codes are the
registry's own: 404xx not found, 42202 invalid version, 42205 read-only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from schemas import CATALOGUE, SchemaEntry
from streams.registry.subjects import Subject, subjects

MEDIA = "application/vnd.schemaregistry.v1+json"
COMPATIBILITY = "BACKWARD_TRANSITIVE"
MODE = "READONLY"
SUBJECT_NOT_FOUND = 40401
VERSION_NOT_FOUND = 40402
SCHEMA_NOT_FOUND = 40403
INVALID_VERSION = 42202
READ_ONLY = 42205
_LATEST = ("latest", "-1")
_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)
_WHOLE = re.compile(r"-?[0-9]{1,10}", re.ASCII)
_MAX_NUMBER = 2**31 - 1


class RegistryResponse(NamedTuple):
    """A response; `body` is JSON."""

    status: int
    body: Any


class RegistryError(Exception):
    """An error response; `code` is the registry's `error_code` and begins with the status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def answer(self) -> RegistryResponse:
        status = self.code if self.code < 1000 else self.code // 100
        return RegistryResponse(status, {"error_code": self.code, "message": self.message})


class RegistryReadApi:
    """The read API of a schema registry.

    prefix: the prefix of topic names.  id_of: returns the id of an entry at this registry.
    committed: returns the catalogue's id for such an id.
    """

    def __init__(
        self,
        prefix: str,
        id_of: Callable[[SchemaEntry], int] = lambda entry: entry.id,
        committed: Callable[[int], int | None] = lambda id: id,
    ) -> None:
        self._subjects = subjects(prefix)
        self._id_of = id_of
        self._committed = committed

    def list_subjects(self, query: Mapping[str, str]) -> Any:
        """Return subject names.  query: `subjectPrefix`, `offset` and `limit` (-1: unlimited)."""
        start = query.get("subjectPrefix", "")
        names = [name for name in self._subjects if name.startswith(start)]
        offset, limit = _parse_whole(query, "offset", 0), _parse_whole(query, "limit", -1)
        return names[offset:][: None if limit == -1 else limit]

    def list_versions(self, subject: str) -> Any:
        return [entry.version for entry in self._subject(subject).entries]

    def get_version(self, subject: str, version: str) -> Any:
        entry = self._version(subject, version)
        return {
            "subject": subject,
            "version": entry.version,
            "id": self._id_of(entry),
            "schema": text_of(entry),
        }

    def get_version_schema(self, subject: str, version: str) -> Any:
        return self._version(subject, version).schema

    def get_by_id(self, id: str) -> Any:
        return {"schema": text_of(self._entry(id))}

    def get_schema_by_id(self, id: str) -> Any:
        return self._entry(id).schema

    def list_subjects_of_id(self, id: str) -> Any:
        return [pair["subject"] for pair in self.list_versions_of_id(id)]

    def list_versions_of_id(self, id: str) -> Any:
        entry = self._entry(id)
        return [
            {"subject": subject.name, "version": entry.version}
            for subject in self._subjects.values()
            if subject.record == entry.record
        ]

    def compatibility(self, subject: str | None = None) -> Any:
        self._require_subject(subject)
        return {"compatibilityLevel": COMPATIBILITY}

    def mode(self, subject: str | None = None) -> Any:
        self._require_subject(subject)
        return {"mode": MODE}

    def _require_subject(self, subject: str | None) -> None:
        if subject is not None:
            self._subject(subject)

    def _subject(self, name: str) -> Subject:
        subject = self._subjects.get(name)
        if subject is None:
            raise RegistryError(SUBJECT_NOT_FOUND, f"Subject '{name}' not found.")
        return subject

    def _version(self, subject: str, version: str) -> SchemaEntry:
        entries = self._subject(subject).entries
        if version in _LATEST:
            return entries[-1]
        if not _NUMBER.fullmatch(version) or not 1 <= int(version) <= _MAX_NUMBER:
            raise RegistryError(
                INVALID_VERSION,
                f"The specified version '{version}' is not a valid version id. Allowed values are"
                ' between [1, 2^31-1] and the string "latest"',
            )
        if int(version) > len(entries):
            raise RegistryError(VERSION_NOT_FOUND, f"Version {version} not found.")
        return entries[int(version) - 1]

    def _entry(self, id: str) -> SchemaEntry:
        if _NUMBER.fullmatch(id):
            known = int(id) if int(id) in CATALOGUE else self._committed(int(id))
            if known is not None and known in CATALOGUE:
                return CATALOGUE.entry(known)
        raise RegistryError(SCHEMA_NOT_FOUND, f"Schema {id} not found")


def read_only(subject: str) -> RegistryError:
    """Return the error for an attempt to register a schema."""
    return RegistryError(
        READ_ONLY,
        f"Subject {subject} is in read-only mode: the gateway serves the committed catalogue,"
        " which grows with releases only",
    )


def text_of(entry: SchemaEntry) -> str:
    """Return a schema as JSON text, as a registry stores it."""
    return json.dumps(entry.schema, separators=(",", ":"), ensure_ascii=False)


def _parse_whole(query: Mapping[str, str], name: str, minimum: int) -> int:
    """Parse a whole number of the query.  minimum: also the default."""
    text = query.get(name)
    if text is None:
        return minimum
    if not _WHOLE.fullmatch(text) or not minimum <= int(text) <= _MAX_NUMBER:
        allowed = f"a whole number from {minimum} to {_MAX_NUMBER}"
        raise RegistryError(422, f"The query parameter '{name}' is {allowed}, not '{text}'")
    return int(text)
