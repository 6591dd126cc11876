"""The differences between the JSON of a protocol and its Avro records, declared as data.

The conversions (`json_form`, `avro_form`) and the schemas of rows (`row_schema`) read these; they
look up the mapping of a record by the namespace of its full name (`lookup`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

EXTRA = "extra_json"
"""The field that holds, as canonical JSON, the members that have no field of their own."""

ShapeViolation = Literal[
    "branch_unknown",
    "enum_value",
    "format_time",
    "json_invalid",
    "lone_surrogate",
    "member_missing",
    "member_type",
    "member_unknown",
    "number_range",
    "root_type",
    "type_unknown",
]
"""What can be wrong with a shape.  Where a protocol names no code for it, this is the code."""

_GENERAL: Mapping[ShapeViolation, ShapeViolation] = {
    "branch_unknown": "enum_value",
    "type_unknown": "enum_value",
    "lone_surrogate": "json_invalid",
    "root_type": "json_invalid",
}
"""Special cases, and what each is a case of."""


@dataclass(frozen=True)
class Codes:
    """The rule codes for violations of a shape.

    named: codes by violation; a special case without its own code has that of its general case.
    enums: codes of unknown symbols, by the full name of the enum.
    below: codes of all other violations, by the prefix of the JSON Pointer.
    otherwise: the code of the remaining ones; None for the name of the violation.
    """

    named: Mapping[ShapeViolation, str] = field(default_factory=dict)
    enums: Mapping[str, str] = field(default_factory=dict)
    below: Mapping[str, str] = field(default_factory=dict)
    otherwise: str | None = None

    def code(self, violation: ShapeViolation, path: str, enum: str = "") -> str:
        """Return the code of a violation at a JSON Pointer.  enum: the one lacking the symbol."""
        general = _GENERAL.get(violation, violation)
        named = self.enums.get(enum) or self.named.get(violation) or self.named.get(general)
        if named is not None:
            return named
        below = (code for start, code in self.below.items() if path.startswith(start))
        return next(below, self.otherwise or general)


@dataclass(frozen=True)
class Discriminator:
    """The member whose value says which record the union of an object holds.

    The member may have no field in Avro; then its value is derived from the record in the union.
    union: the field with the union.  records: their full names by value.  unknown: the message for
    any other value.  repeated: the object in the union may have the member too, and it is dropped
    there.
    """

    member: str
    union: str
    records: Mapping[str, str]
    unknown: str
    repeated: bool = False

    @cached_property
    def words(self) -> dict[str, str]:
        """Return the member's values by the full names of their records."""
        return {record: word for word, record in self.records.items()}


@dataclass(frozen=True)
class OpenJson:
    """The way in which text that holds JSON (`x_json`) represents the member `x`.

    quoted: a string becomes a JSON string; else it is the text itself.
    pointed: a double without fraction beyond the safe integers keeps its point or exponent.
    strict: text that is no I-JSON is returned as `Unread`, and null is a value in sparse records;
    else any text that is no I-JSON is returned as a string.
    """

    quoted: bool = False
    pointed: bool = False
    strict: bool = False


@dataclass(frozen=True)
class Repetition:
    """The members of a list's objects that Avro leaves null where they repeat the enclosing
    record's.

    members: member of the objects → member of the record that holds the list.
    """

    list: str
    record: str
    members: Mapping[str, str]


@dataclass(frozen=True)
class JsonMapping:
    """The JSON mapping of the records of some namespaces.  Record names are full names.

    tags: record → the value of the member `type` in its JSON form.
    discriminators: by the record that holds the union.
    sparse: records whose absent members are left out, also in the records they contain; in others,
    which the service writes, absent members are null.
    repetitions: by the record that holds the list.
    null_is_absent: null for a required member counts as absent.
    kept_names: fields called `…_json` that have the same name in JSON.
    codes: for violations of a shape.  codes_of: those of single records instead.
    """

    namespaces: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    discriminators: Mapping[str, Discriminator] = field(default_factory=dict)
    sparse: frozenset[str] = frozenset()
    repetitions: Mapping[str, Repetition] = field(default_factory=dict)
    open: OpenJson = OpenJson()
    null_is_absent: bool = False
    kept_names: frozenset[str] = frozenset()
    codes: Codes = Codes()
    codes_of: Mapping[str, Codes] = field(default_factory=dict)

    def json_name(self, name: str) -> str | None:
        """Return the JSON member of an Avro field that holds JSON as text, None for any other
        field.
        """
        if not name.endswith("_json"):
            return None
        return name if name in self.kept_names else name.removesuffix("_json")

    @cached_property
    def tagged(self) -> dict[str, str]:
        """Return the records that have a tag, by tag."""
        return {word: record for record, word in self.tags.items()}

    @cached_property
    def filled(self) -> dict[str, Mapping[str, str]]:
        """Return the members that are null in Avro where they repeat a parent, by record."""
        return {each.record: each.members for each in self.repetitions.values()}

    @cached_property
    def discriminating(self) -> dict[str, str]:
        """Return the discriminator member that a record's JSON may have, by record."""
        members = {record: each.member for record, each in self.discriminators.items()}
        for each in self.discriminators.values():
            if each.repeated:
                members |= dict.fromkeys(each.records.values(), each.member)
        return members
