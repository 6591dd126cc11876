"""Which release of Kafka a broker is, from the requests that it takes.

A broker does not tell its version, but answers ApiVersions before any login.  Each release has
brought a request of its own (https://kafka.apache.org/protocol, API keys).
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
"""4.0 dropped the first versions of Fetch."""


def release_of(apis: Mapping[int, tuple[int, int]]) -> str | None:
    """The latest release whose own request is there; None for one before 2.8.

    apis: the lowest and the highest version by key of the request.
    """
    found = next((name for name, key in FIRST_WITH if key in apis), None)
    lowest = apis.get(_FETCH, (0, 0))[0]
    return "4.0" if found in ("3.8", "3.9") and lowest >= _FETCH_OF_4_0 else found


def ask(bootstrap: str, security: Mapping[str, str], timeout_s: float = 5.0) -> str | None:
    """The release of the first broker that answers.  Raises OSError when none does."""
    last: Exception = OSError(f"{bootstrap} names no broker")
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            return release_of(_asked(host.strip("[]"), int(port), security, timeout_s))
        except (OSError, ValueError, struct.error) as exc:
            last = exc
    raise OSError(str(last)) from last


def _asked(
    host: str, port: int, security: Mapping[str, str], timeout_s: float
) -> dict[int, tuple[int, int]]:
    body = struct.pack(">hhih", API_VERSIONS, 0, 1, -1)  # version 0, no client id
    plain = socket.create_connection((host, port), timeout_s)
    with closing(_secured(plain, host, security)) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        with connection.makefile("rb") as answer:
            (size,) = struct.unpack(">i", answer.read(4))
            return parse(answer.read(min(size, _LIMIT)))


def _secured(plain: socket.socket, host: str, security: Mapping[str, str]) -> socket.socket:
    context = tls_context(security)
    if context is None:
        return plain
    with closing(plain):  # wrapping takes the descriptor over, or fails
        return context.wrap_socket(plain, server_hostname=host)


def parse(answer: bytes) -> dict[int, tuple[int, int]]:
    """Of version 0: correlation id, error code, then key, lowest and highest version of each."""
    _, error, count = struct.unpack_from(">ihi", answer)
    if error:
        raise OSError(f"the broker answers with error {error}")
    entries = struct.iter_unpack(">hhh", answer[10 : 10 + 6 * count])
    return {key: (lowest, highest) for key, lowest, highest in entries}
