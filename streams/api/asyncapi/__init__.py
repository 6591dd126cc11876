"""The topics as an AsyncAPI 3 document, made from the topology and the schemas.

It describes what clients may use, without internal topics and the changelog.
"""

from streams.api.asyncapi.document import PUBLIC, document, text

__all__ = ["PUBLIC", "document", "text"]
