"""The ids of events in a stream: versions of a task, and page tokens of lists of tasks."""

from __future__ import annotations

import re
from typing import NamedTuple

from streams.doors.a2a.errors import A2aError

_FORM = re.compile(r"([1-9][0-9]{0,14})(a?)", re.ASCII)


class Cursor(NamedTuple):
    """The id of an event: the version of the task after it.

    is_artifact: of the artifact that comes before the status of the same version.
    """

    version: int
    is_artifact: bool = False

    @property
    def order(self) -> tuple[int, bool]:
        """Return what sorts the events of a task."""
        return self.version, not self.is_artifact

    def __str__(self) -> str:
        return f"{self.version}a" if self.is_artifact else str(self.version)


def parse_cursor(text: str) -> Cursor:
    """Parse the header Last-Event-ID.  Raises A2aError."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise cursor_error(text[:20])
    return Cursor(int(match[1]), bool(match[2]))


def cursor_error(text: str) -> A2aError:
    return A2aError("a2a.cursor", f"the task has no event {text}", "Last-Event-ID")
