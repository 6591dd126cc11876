"""The OpenAPI document, made from the route table."""

from streams.gateway.openapi.document import TITLE, document, text

__all__ = ["TITLE", "document", "text"]
