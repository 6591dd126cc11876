"""The processor of Summit's manifests, runs and verifications."""

from streams.protocols.summit.processor.processor import SummitProcessor

__all__ = ["SummitProcessor"]
