"""`POST /summit` without HTTP (Summit 6.1): from the body of a request to its answer."""

from streams.summit.rpc.host import Host
from streams.summit.rpc.server import MAX_BODY_BYTES, PATH, POSITIONS, Reply, Server

__all__ = ["MAX_BODY_BYTES", "PATH", "POSITIONS", "Host", "Reply", "Server"]
