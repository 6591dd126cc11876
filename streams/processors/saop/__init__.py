"""The saop processor: puts the turns of each task in order and watches for stuck agents."""

from streams.processors.saop.processor import SaopProcessor

__all__ = ["SaopProcessor"]
