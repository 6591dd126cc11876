"""The apc processor: judges agent packets and drives their lifecycle."""

from streams.protocols.apc.processor.processor import ApcProcessor

__all__ = ["ApcProcessor"]
