"""What runs.  Users import `Client`, the async client, `LocalBus` with what belongs to it, and
`errors`, what they raise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streams import errors
    from streams.bus import Ack, LocalBus, Nack, Transcript
    from streams.client import Client, TailRecord, TailStream

__all__ = [
    "Ack",
    "Client",
    "LocalBus",
    "Nack",
    "TailRecord",
    "TailStream",
    "Transcript",
    "errors",
]
_BUS = ("Ack", "LocalBus", "Nack", "Transcript")


def __getattr__(name: str) -> Any:
    """On first use: most modules of this package need neither the client nor the bus."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    if name == "errors":
        return importlib.import_module("streams.errors")
    package = "streams.bus" if name in _BUS else "streams.client"
    return getattr(importlib.import_module(package), name)
