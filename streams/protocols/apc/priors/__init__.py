"""The apc-priors processor: it adds up how the attempts of each strategy ended."""

from streams.protocols.apc.priors.processor import ApcPriorsProcessor

__all__ = ["ApcPriorsProcessor"]
