"""SAP in this process: agents as functions, the real processors on the in-memory log."""

from streams.bus.bus import LocalBus
from streams.bus.receipts import Ack, Nack
from streams.bus.transcript import Transcript

__all__ = ["Ack", "LocalBus", "Nack", "Transcript"]
