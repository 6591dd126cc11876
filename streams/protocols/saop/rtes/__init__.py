"""The rtes processor: numbers the events of each session and keeps the state of its tasks."""

from streams.protocols.saop.rtes.processor import RtesProcessor

__all__ = ["RtesProcessor"]
