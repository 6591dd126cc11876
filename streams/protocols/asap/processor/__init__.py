"""Agents' tasks, states and calls, as ASAP has them."""

from streams.protocols.asap.processor.processor import AsapProcessor

__all__ = ["AsapProcessor"]
