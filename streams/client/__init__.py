"""The async client: send, follow and query, over Kafka itself or over the HTTP gateway."""

from streams.client.client import Client
from streams.client.stream import TailStream
from streams.client.transport import TailRecord

__all__ = ["Client", "TailRecord", "TailStream"]
