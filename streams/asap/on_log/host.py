"""The environment of a server on the log; the gateway has one, `headrace play` another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from streams.protocols.asap.settings import AsapSettings
from streams.views.reads import ReadOnlyStore

T = TypeVar("T")


class Host(Protocol):
    """The log, the view, the clock and the settings that a server on the log uses."""

    @property
    def settings(self) -> AsapSettings: ...

    def now_ms(self) -> int:
        """Return the time in milliseconds since the epoch."""

    def new_id(self) -> str:
        """Return an id for an envelope that the server makes."""

    async def append(self, envelope: dict[str, Any], headers: Mapping[str, str]) -> str:
        """Append an envelope, as JSON, to the log and return its position.

        headers: of the request; the record carries its trace context.
        Raises InvalidInput with the stateless rules that it breaks, OutputTooLarge, and
        InfrastructureError when it is unknown whether the log has it.
        """

    async def find(
        self, row: bytes, look: Callable[[ReadOnlyStore], T | None], seconds: float
    ) -> T | None:
        """Return what `look` reads in the view, waiting for that row; None after the timeout."""

    async def settle(self, position: str, seconds: float) -> None:
        """Wait until the view has all writes of that record's task, or for the timeout."""
