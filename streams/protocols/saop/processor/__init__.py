"""The saop processor: it orders the turns of each task and detects stuck agents."""

from streams.protocols.saop.processor.processor import SaopProcessor

__all__ = ["SaopProcessor"]
