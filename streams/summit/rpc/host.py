"""The interface between the server and the system: its log, its views and its settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from streams.engine.records import Output
from streams.protocols.summit.settings import SummitSettings
from streams.views.reads import ReadOnlyStore

T = TypeVar("T")


class Reader(Protocol):
    """Reads of the views."""

    async def read(self, look: Callable[[ReadOnlyStore], T], after: str | None = None) -> T:
        """Return `look` applied to a view that has seen the verdict on the record at `after`.

        Raises QueryError for an impossible position, ViewBehind, ViewNotReady.
        """


class Host(Reader, Protocol):
    """The system of a server; the gateway, `headrace play` and the command line have one each."""

    @property
    def settings(self) -> SummitSettings: ...

    async def append(self, outputs: Sequence[Output]) -> list[str]:
        """Append records to the log and return their positions.  Raises InfrastructureError."""

    async def find(
        self, row: bytes, look: Callable[[ReadOnlyStore], T | None], seconds: float
    ) -> T | None:
        """Return what `look` finds in the view, now or once the row is written.

        None after `seconds`.
        """
