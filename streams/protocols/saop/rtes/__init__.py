"""The rtes processor: it numbers the events of each session and stores its tasks' state."""

from streams.protocols.saop.rtes.processor import RtesProcessor

__all__ = ["RtesProcessor"]
