"""The base classes and member types of the protocols' models.

A member annotated `| None` may be absent.  JSON null is not a value of it: `validate` refuses null,
and the exported JSON Schemas do not allow it.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Strict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from schemas.formats import MAX_ID


class ClosedModel(BaseModel):
    """An object that allows no unknown members."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, protected_namespaces=()
    )

    def json_form(self) -> dict[str, Any]:
        """Return the object as the protocol's JSON, without absent members."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class TolerantModel(ClosedModel):
    """An object whose unknown members are dropped."""

    model_config = ConfigDict(extra="ignore")


Text = Annotated[str, Strict()]
Name = Annotated[str, Strict(), Field(min_length=1)]
Id = Annotated[str, Strict(), Field(min_length=1, max_length=MAX_ID)]
ShortText = Annotated[str, Strict(), Field(max_length=MAX_ID)]
Flag = Annotated[bool, Strict()]
Number = Annotated[float, Strict()]
Share = Annotated[float, Strict(), Field(ge=0, le=1)]
Natural = Annotated[int, Strict(), Field(ge=0, le=2**53 - 1)]
Integer = Annotated[int, Strict()]
OpenObject = dict[str, Any]


class JsonSchema(GenerateJsonSchema):
    """A generator of JSON Schemas in which an absent member is not null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


def json_schema_text(model: Any) -> str:
    """Return the JSON Schema of a type as the text of a file."""
    schema = TypeAdapter(model).json_schema(schema_generator=JsonSchema)
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**dialect, **schema}, indent=2) + "\n"
