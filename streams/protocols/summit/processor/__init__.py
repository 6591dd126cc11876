"""Summit's manifests, runs and judgements."""

from streams.protocols.summit.processor.processor import SummitProcessor

__all__ = ["SummitProcessor"]
