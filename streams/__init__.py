"""The service and its libraries.

Users import `Client`, the async client; `LocalBus` and its classes; `errors`; `serve_agent` and its
classes for Summit agents; and a server, a client and snapshot stores of ASAP, which load neither
Kafka nor RocksDB.  `agent_stream` and `Settings` put such a server on the log.
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
    from streams.client import Client, TailRecord, TailStream
    from streams.gateway.agent import agent_stream
    from streams.sdk.local_bus import Ack, LocalBus, Nack, Transcript
    from streams.settings import Settings
    from streams.summit import (
        AgentError,
        AgentResult,
        BudgetExceeded,
        CallRejected,
        ManifestRejected,
        RunPending,
        VerdictPending,
        serve_agent,
    )

__distribution__ = "headrace"
__all__ = [
    "ASAPClient",
    "ASAPConnectionError",
    "ASAPRemoteError",
    "ASAPTimeoutError",
    "Ack",
    "AgentError",
    "AgentResult",
    "BudgetExceeded",
    "CallRejected",
    "Client",
    "HandlerRegistry",
    "InMemorySnapshotStore",
    "JsonRpcError",
    "JsonRpcErrorResponse",
    "JsonRpcRequest",
    "JsonRpcResponse",
    "LocalBus",
    "ManifestRejected",
    "Nack",
    "RunPending",
    "Settings",
    "SnapshotStore",
    "StreamSnapshotStore",
    "TailRecord",
    "TailStream",
    "Transcript",
    "VerdictPending",
    "agent_stream",
    "create_app",
    "create_default_registry",
    "create_echo_handler",
    "errors",
    "send_task",
    "send_task_sync",
    "serve_agent",
]
_SUMMIT = (
    *("AgentError", "AgentResult", "BudgetExceeded", "CallRejected", "ManifestRejected"),
    *("RunPending", "VerdictPending", "serve_agent"),
)
_ELSEWHERE = {
    **dict.fromkeys(("Ack", "LocalBus", "Nack", "Transcript"), "streams.sdk.local_bus"),
    **dict.fromkeys(("Client", "TailRecord", "TailStream"), "streams.client"),
    **dict.fromkeys(_SUMMIT, "streams.summit"),
    "Settings": "streams.settings",
    "agent_stream": "streams.gateway.agent",
}
"""Names that are not ASAP's, by where they are."""


def __getattr__(name: str) -> Any:
    """Import a name on first use: most modules of this package need none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    if name == "errors":
        return importlib.import_module("streams.errors")
    return getattr(importlib.import_module(_ELSEWHERE.get(name, "streams.asap")), name)
