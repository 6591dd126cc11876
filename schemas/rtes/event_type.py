"""The declaration of one event type: its payload, its Avro record, its checks.

A part that is missing, or that does not fit the others, is an error when the type is declared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import get_args

from schemas.members import Check, Member
from schemas.model import TolerantModel

NAMESPACE = "headrace.rtes"
_TYPE = "type"


class EventPayload(TolerantModel):
    """A payload.  Each type declares its own `type`, a Literal, as the first member."""


@dataclass(frozen=True)
class EventType:
    """One type of event.

    model: the payload as people and programs make it; the Avro record has its class name.
    members: the checks of the payload's members, in the guide's order.
    avro_checks: those to be used instead for values that come out of Avro.
    """

    model: type[EventPayload]
    members: tuple[Member, ...]
    avro_checks: Mapping[Check, Check]

    def __post_init__(self) -> None:
        """Raise TypeError with a sentence that names the part that is missing."""
        declared = self.model.model_fields.get(_TYPE)
        if declared is None or not get_args(declared.annotation):
            raise TypeError(f"{self.model.__name__} has no member type with a Literal.")
        names = [name for name in self.model.model_fields if name != _TYPE]
        self._compare("checks of", [member.name for member in self.members], names)
        self._compare("fields of the Avro record of", self._avro_members(), names)

    @cached_property
    def name(self) -> str:
        """Return the word that the payload has as `type`."""
        word: str = get_args(self.model.model_fields[_TYPE].annotation)[0]
        return word

    @property
    def record(self) -> str:
        """Return the full name of the payload's Avro record."""
        return f"{NAMESPACE}.{self.model.__name__}"

    @property
    def avro_members(self) -> tuple[Member, ...]:
        """Return the checks of the payload as it comes out of Avro."""
        return tuple(m._replace(check=self.avro_checks.get(m.check, m.check)) for m in self.members)

    def _avro_members(self) -> list[str]:
        path = f"avro/rtes/{self.model.__name__}.avsc"
        source = files("schemas").joinpath(path)
        if not source.is_file():
            raise TypeError(f"{self.name} has no Avro record: schemas/{path} is missing.")
        fields = json.loads(source.read_text("utf-8"))["fields"]
        return [field["name"].removesuffix("_json") for field in fields]

    def _compare(self, part: str, names: Sequence[str], expected: Sequence[str]) -> None:
        if set(names) != set(expected):
            differing = ", ".join(sorted(set(names) ^ set(expected)))
            raise TypeError(f"The {part} {self.name} and its model differ in: {differing}.")
