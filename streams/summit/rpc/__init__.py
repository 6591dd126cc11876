"""The JSON-RPC server of `POST /summit`, independent of HTTP (Summit guide, 6.1)."""

from streams.summit.rpc.host import Host
from streams.summit.rpc.server import MAX_BODY_BYTES, PATH, POSITIONS, Reply, Server

__all__ = ["MAX_BODY_BYTES", "PATH", "POSITIONS", "Host", "Reply", "Server"]
