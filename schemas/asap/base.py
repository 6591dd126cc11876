"""The base class of the models (ASAP guide, 2.1), and the types of their members.

pydantic's lax mode: an int is also read from "3", 1.0 or True, a datetime from ISO 8601 text, an
epoch number or a naive value.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from schemas.asap.constants import AGENT_URN_PATTERN, MAX_URN_LENGTH


class ASAPBaseModel(BaseModel):
    """A closed, frozen object in snake case; members that are absent are null on the wire."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=True,
        ser_json_inf_nan="constants",
        validate_by_name=True,
        validate_by_alias=True,
    )


_URN = re.compile(AGENT_URN_PATTERN)


def is_urn(text: str) -> bool:
    """Return whether a text is a URN: a full match of at most 256 characters (ASAP guide, 1)."""
    return len(text) <= MAX_URN_LENGTH and _URN.fullmatch(text) is not None


def _check_urn(text: str) -> str:
    if not is_urn(text):
        raise PydanticCustomError(
            "bad_urn",
            "must follow URN format urn:asap:agent:name or urn:asap:agent:name:sub, "
            "and have at most 256 characters",
        )
    return text


Urn = Annotated[
    str,
    AfterValidator(_check_urn),
    Field(json_schema_extra={"pattern": AGENT_URN_PATTERN, "maxLength": MAX_URN_LENGTH}),
]
OpenObject = dict[str, Any]
"""Any JSON object."""
