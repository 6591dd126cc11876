"""The sap-cache processor: validated answers, written once and reused."""

from streams.protocols.sap.cache.processor import SapCacheProcessor

__all__ = ["SapCacheProcessor"]
