"""The sap-cache processor: vetted answers, written once and used again."""

from streams.protocols.sap.cache.processor import SapCacheProcessor

__all__ = ["SapCacheProcessor"]
