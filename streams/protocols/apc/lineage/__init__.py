"""The apc-lineage processor: sums up each protocol's transfers, and says which have decayed."""

from streams.protocols.apc.lineage.processor import ApcLineageProcessor

__all__ = ["ApcLineageProcessor"]
