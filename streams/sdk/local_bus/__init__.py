"""SAP in this process: agents as functions, the real processors on the in-memory log."""

from streams.sdk.local_bus.bus import LocalBus
from streams.sdk.local_bus.receipts import Ack, Nack
from streams.sdk.local_bus.transcript import Transcript

__all__ = ["Ack", "LocalBus", "Nack", "Transcript"]
