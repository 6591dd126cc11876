"""What the server stands on: the gateway has one, `headrace play` and the command line others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from streams.engine.records import Output
from streams.protocols.summit.settings import SummitSettings
from streams.views.reads import ReadOnlyStore

T = TypeVar("T")


class Reading(Protocol):
    async def read(self, look: Callable[[ReadOnlyStore], T], after: str | None = None) -> T:
        """What `look` says of the view, once it has seen the answer to the record at `after`.

        Raises QueryError for a position that cannot be, ViewBehind, ViewNotReady.
        """


class Host(Reading, Protocol):
    """settings: those of the service."""

    @property
    def settings(self) -> SummitSettings: ...

    async def append(self, outputs: Sequence[Output]) -> list[str]:
        """Put records on the log; their positions.  Raises InfrastructureError."""

    async def find(
        self, row: bytes, look: Callable[[ReadOnlyStore], T | None], seconds: float
    ) -> T | None:
        """What `look` finds in the view, now or once that row is written; None when time is up."""
