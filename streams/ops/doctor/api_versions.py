"""Detection of a broker's Kafka release from the requests that it supports.

A broker does not report its version, but responds to ApiVersions before any login.  Each release
has added a request (https://kafka.apache.org/protocol, API keys).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from contextlib import closing

from streams.settings.kafka_security import tls_context

API_VERSIONS = 18
_LIMIT = 1 << 16
FIRST_WITH = (
    ("4.1", 90),  # DescribeShareGroupOffsets
    ("3.9", 80),  # AddRaftVoter
    ("3.8", 75),  # DescribeTopicPartitions
    ("3.7", 71),  # GetTelemetrySubscriptions
    ("3.0", 65),  # DescribeTransactions
    ("2.8", 60),  # DescribeCluster
)
_FETCH, _FETCH_OF_4_0 = 1, 4
"""Kafka 4.0 removed the first versions of Fetch."""


def release_of(apis: Mapping[int, tuple[int, int]]) -> str | None:
    """Return the latest release whose new request is supported; None before 2.8.

    apis: the lowest and the highest version by API key.
    """
    release = next((name for name, key in FIRST_WITH if key in apis), None)
    lowest = apis.get(_FETCH, (0, 0))[0]
    return "4.0" if release in ("3.8", "3.9") and lowest >= _FETCH_OF_4_0 else release


def ask(bootstrap: str, security: Mapping[str, str], timeout_s: float = 5.0) -> str | None:
    """Return the release of the first broker that responds.  Raises OSError if none does."""
    last: Exception = OSError(f"{bootstrap} names no broker")
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            return release_of(_request_versions(host.strip("[]"), int(port), security, timeout_s))
        except (OSError, ValueError, struct.error) as exc:
            last = exc
    raise OSError(str(last)) from last


def _request_versions(
    host: str, port: int, security: Mapping[str, str], timeout_s: float
) -> dict[int, tuple[int, int]]:
    body = struct.pack(">hhih", API_VERSIONS, 0, 1, -1)  # version 0, no client id
    plain = socket.create_connection((host, port), timeout_s)
    with closing(_wrap_tls(plain, host, security)) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        with connection.makefile("rb") as response:
            (size,) = struct.unpack(">i", response.read(4))
            return parse(response.read(min(size, _LIMIT)))


def _wrap_tls(plain: socket.socket, host: str, security: Mapping[str, str]) -> socket.socket:
    context = tls_context(security)
    if context is None:
        return plain
    with closing(plain):  # wrapping takes over the descriptor, or fails
        return context.wrap_socket(plain, server_hostname=host)


def parse(response: bytes) -> dict[int, tuple[int, int]]:
    """Parse a response of version 0.

    It has a correlation id, an error code, then key, lowest and highest version of each request.
    """
    _, error, count = struct.unpack_from(">ihi", response)
    if error:
        raise OSError(f"the broker answers with error {error}")
    entries = struct.iter_unpack(">hhh", response[10 : 10 + 6 * count])
    return {key: (lowest, highest) for key, lowest, highest in entries}
