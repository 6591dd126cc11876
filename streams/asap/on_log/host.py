"""What a server on the log stands on; the gateway has one, and `headrace play` another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from streams.protocols.asap.settings import AsapSettings
from streams.views.reads import ReadOnlyStore

T = TypeVar("T")


class Host(Protocol):
    """settings: those of the service."""

    @property
    def settings(self) -> AsapSettings: ...

    def now_ms(self) -> int:
        """Since the epoch."""

    def new_id(self) -> str:
        """Of an envelope that is made here."""

    async def append(self, envelope: dict[str, Any], headers: Mapping[str, str]) -> str:
        """Put an envelope, as JSON, on the log; its position.

        headers: of the request; the record carries its trace context.
        Raises InvalidInput with the stateless rules that it breaks, OutputTooLarge, and
        InfrastructureError when it is not known to be on the log.
        """

    async def find(
        self, row: bytes, look: Callable[[ReadOnlyStore], T | None], seconds: float
    ) -> T | None:
        """What `look` finds in the view, now or once that row is written; None when time is up."""

    async def settle(self, position: str, seconds: float) -> None:
        """Until the view has all that the task of that record has written, or time is up."""
