"""The errors of exports and of SQL.  The text begins with the code, and ends with what to do."""

from __future__ import annotations

import re
from typing import Self

from streams.errors import HeadraceError, InfrastructureError, NegativeAnswer, UsageError

_PLACE = re.compile(r"(?P<head>LINE (?P<line>\d+): ).*\n(?P<arrow> *)\^")


class _Coded(HeadraceError):
    def __str__(self) -> str:
        return f"{self.code}: {super().__str__()}"


class TopicUnknown(_Coded, UsageError):
    default_advice = "`headrace topics list` names all topics."


class TopicInternal(_Coded, UsageError):
    default_advice = "Commands, facts, audit records, tables, inboxes and edges can be exported."


class QueryValue(_Coded, UsageError):
    default_advice = "A point is a time, ISO 8601 with zone, or a position of a command or fact."


class AsOfAhead(_Coded, UsageError):
    default_advice = "A point lies in the past."


class ExportRunning(_Coded, NegativeAnswer):
    default_advice = "Wait until it has ended."


class ExportFailed(_Coded, InfrastructureError):
    default_advice = "Make room, and export again: it goes on from the files that are whole."


class ExportForeign(_Coded, NegativeAnswer):
    default_advice = "Give another folder to --into."


class ExportFormat(_Coded, NegativeAnswer):
    default_advice = "Give an empty folder to --into."


class LogTruncated(_Coded, NegativeAnswer):
    default_advice = "Go on without the missing records with --accept-gap."


class ExportMissing(_Coded, NegativeAnswer):
    default_advice = "Make one with `headrace export parquet --into DIR`."


class SqlInvalid(_Coded, NegativeAnswer):
    default_advice = "`headrace sql` without a query lists names with .views and .schema NAME."

    @classmethod
    def of(cls, message: str) -> Self:
        """Return the error of a message of DuckDB, which draws the place below its sentence."""
        sentence, _, drawn = message.partition("\n\n")
        sentence = " ".join(sentence.split())
        place = _PLACE.search(drawn)
        if place is None:
            return cls(sentence)
        column = len(place["arrow"]) - len(place["head"]) + 1
        return cls(f"{sentence} (line {place['line']}, column {column})")


class SqlRefused(_Coded, NegativeAnswer):
    default_advice = "A query reads; it changes nothing."


class SqlAccess(_Coded, NegativeAnswer):
    default_advice = "A query reads the exported topics and nothing else."


class SqlMemory(_Coded, NegativeAnswer):
    default_advice = "Give it more with --memory, or let it keep fewer rows."


class SqlTimeout(_Coded, NegativeAnswer):
    default_advice = "Give it more with --timeout, or ask for less."
