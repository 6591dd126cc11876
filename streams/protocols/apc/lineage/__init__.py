"""The apc-lineage processor: it sums up each protocol's transfers and detects decay."""

from streams.protocols.apc.lineage.processor import ApcLineageProcessor

__all__ = ["ApcLineageProcessor"]
