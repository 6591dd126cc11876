"""The sap processor: judges tasks, results and signals, and publishes what came of them."""

from streams.protocols.sap.processor.processor import SapProcessor

__all__ = ["SapProcessor"]
