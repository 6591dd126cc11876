"""Agents' tasks, states and calls, as ASAP has them."""

from streams.processors.asap.processor import AsapProcessor

__all__ = ["AsapProcessor"]
