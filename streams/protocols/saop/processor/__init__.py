"""The saop processor: puts the turns of each task in order and watches for stuck agents."""

from streams.protocols.saop.processor.processor import SaopProcessor

__all__ = ["SaopProcessor"]
