"""The errors of an export.  The text begins with the code, and ends with what to do."""

from __future__ import annotations

from streams.errors import HeadraceError, NegativeAnswer, UsageError


class _Coded(HeadraceError):
    def __str__(self) -> str:
        return f"{self.code}: {super().__str__()}"


class TopicUnknown(_Coded, UsageError):
    default_advice = "`headrace topics list` names all topics."


class TopicInternal(_Coded, UsageError):
    default_advice = "Commands, facts, audit records, tables, inboxes and edges can be exported."


class ExportRunning(_Coded, NegativeAnswer):
    default_advice = "Wait until it has ended."


class ExportForeign(_Coded, NegativeAnswer):
    default_advice = "Give another folder to --into."


class ExportFormat(_Coded, NegativeAnswer):
    default_advice = "Give an empty folder to --into."


class LogTruncated(_Coded, NegativeAnswer):
    default_advice = "Go on without the missing records with --accept-gap."
