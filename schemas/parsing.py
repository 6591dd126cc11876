"""Parsing into models: `parse`, which raises, and `safe_parse`, which returns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from pydantic import ValidationError

from schemas.canonical import parse_ijson
from schemas.model import TolerantModel
from schemas.problems import Problem, ShapeError, pointer

T = TypeVar("T")


class ParseError(ValueError):
    """An error for a value that breaks rules of its protocol; `problems` names each."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            "; ".join(
                f"{each.rule} at {each.path or 'the root'}: {each.message}" for each in problems
            )
        )


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """The outcome of `safe_parse`: data, or the error that `parse` would have raised."""

    success: bool
    data: T | None = None
    error: ParseError | None = None


class ParsedModel(TolerantModel):
    """A model that reads what agents send: JSON text, or the value of it."""

    @classmethod
    @abstractmethod
    def problems_of(cls, value: Any) -> list[Problem]:
        """Return the rules of shape that a value breaks."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Return the object, without unknown members.

        value: JSON text as str or bytes, or a parsed value.  Raises ParseError.
        """
        try:
            parsed = parse_ijson(value) if isinstance(value, str | bytes) else value
        except ShapeError as exc:
            raise ParseError([exc.problem]) from exc
        if problems := cls.problems_of(parsed):
            raise ParseError(problems)
        try:
            return cls.model_validate(parsed)
        except ValidationError as exc:
            problems = [
                Problem("member_type", pointer(*each["loc"]), each["msg"]) for each in exc.errors()
            ]
            raise ParseError(problems) from exc

    @classmethod
    def safe_parse(cls, value: Any) -> Parsed[Self]:
        """Return what `parse` returns, or its error, and never raise for a value."""
        try:
            return Parsed(True, cls.parse(value))
        except ParseError as exc:
            return Parsed(False, error=exc)
