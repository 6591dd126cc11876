"""A union of models that can be used as if it were a model."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema

T = TypeVar("T")


class UnionAdapter(Generic[T]):
    """A reader, writer and schema of the members of a union; usable in annotations too.

    Reading raises pydantic's ValidationError, which distinguishes a wrong tag from a missing one.
    """

    def __init__(self, union: Any, title: str) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(union)
        self._title = title

    def validate_python(self, value: Any) -> T:
        return self._adapter.validate_python(value)

    def validate_json(self, text: str | bytes) -> T:
        return self._adapter.validate_json(text)

    def dump_python(self, member: T, **options: Any) -> Any:
        """Return the member as JSON values.  options: those of pydantic's
        `TypeAdapter.dump_python`.
        """
        return self._adapter.dump_python(member, **options)

    def dump_json(self, member: T, **options: Any) -> bytes:
        return self._adapter.dump_json(member, **options)

    def json_schema(self, **options: Any) -> dict[str, Any]:
        return {**self._adapter.json_schema(**options), "title": self._title}

    def model_json_schema(self, **options: Any) -> dict[str, Any]:
        return self.json_schema(**options)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return self._adapter.core_schema
