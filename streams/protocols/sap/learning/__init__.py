"""The sap-learning processor: values learned per capability from outcomes and operators."""

from streams.protocols.sap.learning.processor import SapLearningProcessor

__all__ = ["SapLearningProcessor"]
