"""The sap-learning processor: what outcomes and operators teach about each capability."""

from streams.protocols.sap.learning.processor import SapLearningProcessor

__all__ = ["SapLearningProcessor"]
