"""The registry's read API over the catalogue, as Confluent's schema registry answers it.

Pure: what a request names comes in, an answer with its JSON goes out.  Codes of faults are the
registry's own: 404xx what is not there, 42202 no version, 42205 no writing.
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
_MOST = 2**31 - 1


class Answer(NamedTuple):
    """body: JSON."""

    status: int
    body: Any


class Fault(Exception):
    """code: the registry's `error_code`, whose first three digits are the status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def answer(self) -> Answer:
        status = self.code if self.code < 1000 else self.code // 100
        return Answer(status, {"error_code": self.code, "message": self.message})


class Reading:
    """prefix: of topic names.

    id_of: the id that an entry has here.  committed: the catalogue's id for one of those.
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
        """query: `subjectPrefix`, `offset` and `limit` count; a limit of -1 is none."""
        start = query.get("subjectPrefix", "")
        names = [name for name in self._subjects if name.startswith(start)]
        offset, limit = _whole(query, "offset", 0), _whole(query, "limit", -1)
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
        self._there(subject)
        return {"compatibilityLevel": COMPATIBILITY}

    def mode(self, subject: str | None = None) -> Any:
        self._there(subject)
        return {"mode": MODE}

    def _there(self, subject: str | None) -> None:
        if subject is not None:
            self._subject(subject)

    def _subject(self, name: str) -> Subject:
        found = self._subjects.get(name)
        if found is None:
            raise Fault(SUBJECT_NOT_FOUND, f"Subject '{name}' not found.")
        return found

    def _version(self, subject: str, version: str) -> SchemaEntry:
        entries = self._subject(subject).entries
        if version in _LATEST:
            return entries[-1]
        if not _NUMBER.fullmatch(version) or not 1 <= int(version) <= _MOST:
            raise Fault(
                INVALID_VERSION,
                f"The specified version '{version}' is not a valid version id. Allowed values are"
                ' between [1, 2^31-1] and the string "latest"',
            )
        if int(version) > len(entries):
            raise Fault(VERSION_NOT_FOUND, f"Version {version} not found.")
        return entries[int(version) - 1]

    def _entry(self, id: str) -> SchemaEntry:
        if _NUMBER.fullmatch(id):
            known = int(id) if int(id) in CATALOGUE else self._committed(int(id))
            if known is not None and known in CATALOGUE:
                return CATALOGUE.entry(known)
        raise Fault(SCHEMA_NOT_FOUND, f"Schema {id} not found")


def read_only(subject: str) -> Fault:
    """What a registry in read-only mode says to who would register a schema."""
    return Fault(
        READ_ONLY,
        f"Subject {subject} is in read-only mode: the gateway serves the committed catalogue,"
        " which grows with releases only",
    )


def text_of(entry: SchemaEntry) -> str:
    """The schema as a registry keeps it: JSON text."""
    return json.dumps(entry.schema, separators=(",", ":"), ensure_ascii=False)


def _whole(query: Mapping[str, str], name: str, least: int) -> int:
    """least: the default too."""
    text = query.get(name)
    if text is None:
        return least
    if not _WHOLE.fullmatch(text) or not least <= int(text) <= _MOST:
        allowed = f"a whole number from {least} to {_MOST}"
        raise Fault(422, f"The query parameter '{name}' is {allowed}, not '{text}'")
    return int(text)
