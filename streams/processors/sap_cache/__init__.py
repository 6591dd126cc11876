"""The sap-cache processor: vetted answers, written once and used again."""

from streams.processors.sap_cache.processor import SapCacheProcessor

__all__ = ["SapCacheProcessor"]
