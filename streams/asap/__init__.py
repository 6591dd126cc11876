"""ASAP 0.1 over HTTP: a server, its handlers, a client, snapshot stores (ASAP guide, 4.4, 6).

Nothing here knows Kafka or RocksDB; `streams.protocols.asap.rpc` puts a server on the log.
"""

from streams.asap.app import create_app
from streams.asap.client import ASAPClient, send_task, send_task_sync
from streams.asap.errors import ASAPConnectionError, ASAPRemoteError, ASAPTimeoutError
from streams.asap.jsonrpc import (
    JsonRpcError,
    JsonRpcErrorResponse,
    JsonRpcRequest,
    JsonRpcResponse,
)
from streams.asap.registry import (
    Handler,
    HandlerRegistry,
    create_default_registry,
    create_echo_handler,
)
from streams.asap.snapshots import InMemorySnapshotStore, SnapshotStore
from streams.asap.stream_snapshots import StreamSnapshotStore

__all__ = [
    "ASAPClient",
    "ASAPConnectionError",
    "ASAPRemoteError",
    "ASAPTimeoutError",
    "Handler",
    "HandlerRegistry",
    "InMemorySnapshotStore",
    "JsonRpcError",
    "JsonRpcErrorResponse",
    "JsonRpcRequest",
    "JsonRpcResponse",
    "SnapshotStore",
    "StreamSnapshotStore",
    "create_app",
    "create_default_registry",
    "create_echo_handler",
    "send_task",
    "send_task_sync",
]
