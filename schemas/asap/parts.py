"""The five kinds of content of messages and artifacts, told apart by `type` (ASAP guide, 2.3)."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from schemas.asap.adapter import UnionAdapter
from schemas.asap.base import ASAPBaseModel, OpenObject

_MIME = re.compile(r"[a-z0-9-]+/[a-z0-9.+\-]+")
_BASE64 = re.compile("[A-Za-z0-9+/]*={0,2}")


def _check_mime(text: str) -> str:
    if _MIME.fullmatch(text.lower()) is None:
        raise PydanticCustomError("mime_type", "Invalid MIME type format")
    return text


def _check_base64(text: str) -> str:
    """Check the padding, which Python's own decoder does not."""
    if len(text) % 4 != 0 or _BASE64.fullmatch(text) is None:
        raise PydanticCustomError("base64", "inline_data must be valid base64")
    return text


MimeType = Annotated[
    str,
    AfterValidator(_check_mime),
    Field(json_schema_extra={"pattern": r"^[A-Za-z0-9-]+/[A-Za-z0-9.+\-]+$"}),
]
Base64 = Annotated[
    str,
    AfterValidator(_check_base64),
    Field(
        json_schema_extra={
            "contentEncoding": "base64",
            "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
        }
    ),
]


class TextPart(ASAPBaseModel):
    """Text, which may be empty."""

    type: Literal["text"]
    content: str


class DataPart(ASAPBaseModel):
    """A JSON object."""

    type: Literal["data"]
    data: OpenObject
    schema_uri: str | None = None


class FilePart(ASAPBaseModel):
    """A file by its place, and perhaps its bytes."""

    type: Literal["file"]
    uri: str
    mime_type: MimeType
    inline_data: Base64 | None = None


class ResourcePart(ASAPBaseModel):
    """An MCP resource."""

    type: Literal["resource"]
    resource_uri: str


class TemplatePart(ASAPBaseModel):
    """A text with places for variables."""

    type: Literal["template"]
    template: str
    variables: OpenObject


AnyPart = TextPart | DataPart | FilePart | ResourcePart | TemplatePart

Part = UnionAdapter[AnyPart](Annotated[AnyPart, Field(discriminator="type")], "Part")
"""Reads, writes and describes any part."""


def _kind(item: Any) -> str | None:
    if isinstance(item, str):
        return "id"
    tag = item.get("type") if isinstance(item, dict) else getattr(item, "type", None)
    return tag if tag is None else str(tag)


Item = Annotated[
    Annotated[str, Tag("id")]
    | Annotated[TextPart, Tag("text")]
    | Annotated[DataPart, Tag("data")]
    | Annotated[FilePart, Tag("file")]
    | Annotated[ResourcePart, Tag("resource")]
    | Annotated[TemplatePart, Tag("template")],
    Discriminator(_kind),
]
"""An item of `parts`: the id of a part, or the part itself."""
