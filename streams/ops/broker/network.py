"""Loopback ports, and the Kafka request that shows whether a broker is ready."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from contextlib import ExitStack

_METADATA, _VERSION = 3, 2


def reachable(bootstrap: str, timeout_s: float = 3.0) -> bool:
    """Return whether anything listens at one of these addresses, host:port[,host:port…]."""
    return any(_can_connect(address, timeout_s) for address in bootstrap.split(","))


def _can_connect(address: str, timeout_s: float) -> bool:
    host, _, port = address.strip().rpartition(":")
    if not (host and port.isdigit()):
        return False
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout_s).close()
    except (OSError, OverflowError):
        return False
    return True


def pick_ports(preferred: Iterable[int], count: int) -> list[int]:
    """Return `count` ports of 127.0.0.1: the first free preferred one, the others random."""
    with ExitStack() as stack:
        listeners: list[socket.socket] = []
        for port in [*preferred, *[0] * count]:
            if len(listeners) < count and (port == 0 or not listeners):
                listener = stack.enter_context(socket.socket())
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    listener.bind(("127.0.0.1", port))
                except OSError:
                    continue
                listeners.append(listener)
        return [int(listener.getsockname()[1]) for listener in listeners]


def cluster_id(port: int, timeout_s: float = 2.0) -> str | None:
    """Return the cluster id of the broker on 127.0.0.1, None until it lists a live broker."""
    body = struct.pack(">hhihi", _METADATA, _VERSION, 1, -1, 0)  # no client id, no topics
    try:
        with socket.create_connection(("127.0.0.1", port), timeout_s) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            with connection.makefile("rb") as response:
                (size,) = struct.unpack(">i", response.read(4))
                return _cluster_of(response.read(min(size, 1 << 20)))
    except (OSError, struct.error, UnicodeDecodeError):
        return None


def _cluster_of(response: bytes) -> str | None:
    correlation, brokers = struct.unpack_from(">ii", response)
    at = 8
    for _ in range(brokers):  # node id, host, port, rack
        at += 4
        at += 2 + struct.unpack_from(">h", response, at)[0]
        at += 4
        at += 2 + max(0, struct.unpack_from(">h", response, at)[0])
    (length,) = struct.unpack_from(">h", response, at)
    if correlation != 1 or brokers < 1 or length < 1:
        return None
    return response[at + 2 : at + 2 + length].decode()
