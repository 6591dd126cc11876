"""Summit's manifests, runs and judgements."""

from streams.processors.summit.processor import SummitProcessor

__all__ = ["SummitProcessor"]
