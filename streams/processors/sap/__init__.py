"""The sap processor: judges tasks, results and signals, and publishes what came of them."""

from streams.processors.sap.processor import SapProcessor

__all__ = ["SapProcessor"]
