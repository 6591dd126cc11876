"""What runs.  Users import `Client`, the async client, `LocalBus` with what belongs to it, and
`errors`, what they raise; of ASAP a server, a client and snapshot stores, which load neither Kafka
nor RocksDB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streams import errors
    from streams.asap import (
        ASAPClient,
        ASAPConnectionError,
        ASAPRemoteError,
        ASAPTimeoutError,
        HandlerRegistry,
        InMemorySnapshotStore,
        JsonRpcError,
        JsonRpcErrorResponse,
        JsonRpcRequest,
        JsonRpcResponse,
        SnapshotStore,
        StreamSnapshotStore,
        create_app,
        create_default_registry,
        create_echo_handler,
        send_task,
        send_task_sync,
    )
    from streams.bus import Ack, LocalBus, Nack, Transcript
    from streams.client import Client, TailRecord, TailStream

__all__ = [
    "ASAPClient",
    "ASAPConnectionError",
    "ASAPRemoteError",
    "ASAPTimeoutError",
    "Ack",
    "Client",
    "HandlerRegistry",
    "InMemorySnapshotStore",
    "JsonRpcError",
    "JsonRpcErrorResponse",
    "JsonRpcRequest",
    "JsonRpcResponse",
    "LocalBus",
    "Nack",
    "SnapshotStore",
    "StreamSnapshotStore",
    "TailRecord",
    "TailStream",
    "Transcript",
    "create_app",
    "create_default_registry",
    "create_echo_handler",
    "errors",
    "send_task",
    "send_task_sync",
]
_ELSEWHERE = {
    **dict.fromkeys(("Ack", "LocalBus", "Nack", "Transcript"), "streams.bus"),
    **dict.fromkeys(("Client", "TailRecord", "TailStream"), "streams.client"),
}
"""Names that are not ASAP's, by where they are."""


def __getattr__(name: str) -> Any:
    """On first use: most modules of this package need none of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    if name == "errors":
        return importlib.import_module("streams.errors")
    return getattr(importlib.import_module(_ELSEWHERE.get(name, "streams.asap")), name)
