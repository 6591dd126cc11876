"""The apc processor: judges agent packets and drives their lifecycle."""

from streams.processors.apc.processor import ApcProcessor

__all__ = ["ApcProcessor"]
