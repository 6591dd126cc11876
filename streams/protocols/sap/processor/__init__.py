"""The sap processor: it decides on tasks, results and signals, and publishes outcomes."""

from streams.protocols.sap.processor.processor import SapProcessor

__all__ = ["SapProcessor"]
