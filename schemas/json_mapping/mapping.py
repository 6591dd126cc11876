"""How the JSON of one protocol differs from its Avro records: what it states, as data.

The conversions (`json_form`, `avro_form`) and the schemas of rows (`row_schema`) read these; they
find the mapping of a record by the namespace of its full name (`lookup`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

EXTRA = "extra_json"
"""The field that holds, as canonical JSON, the members that have no field of their own."""

Broken = Literal[
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

_GENERAL: Mapping[Broken, Broken] = {
    "branch_unknown": "enum_value",
    "type_unknown": "enum_value",
    "lone_surrogate": "json_invalid",
    "root_type": "json_invalid",
}
"""Special cases, and what each is a case of."""


@dataclass(frozen=True)
class Codes:
    """The rule codes of broken shapes.

    named: codes by what is broken; a special case has its general one's, if it has none itself.
    enums: codes of unknown words, by the full name of the enum.
    below: codes of everything else, by what the JSON Pointer begins with.
    otherwise: the code of everything that is left; None for the name of what is broken.
    """

    named: Mapping[Broken, str] = field(default_factory=dict)
    enums: Mapping[str, str] = field(default_factory=dict)
    below: Mapping[str, str] = field(default_factory=dict)
    otherwise: str | None = None

    def code(self, broken: Broken, path: str, enum: str = "") -> str:
        """The code of what is broken at a JSON Pointer.  enum: whose word is unknown there."""
        general = _GENERAL.get(broken, broken)
        named = self.enums.get(enum) or self.named.get(broken) or self.named.get(general)
        if named is not None:
            return named
        below = (code for start, code in self.below.items() if path.startswith(start))
        return next(below, self.otherwise or general)


@dataclass(frozen=True)
class Discriminator:
    """The member whose word says which record the union of an object holds.

    The member may have no field in Avro; then it is shown as the word of the record that is there.
    union: the field with the union.  records: their full names by word.  unknown: what is said of
    any other word.  repeated: the object in the union may have the member too, and it is dropped
    there.
    """

    member: str
    union: str
    records: Mapping[str, str]
    unknown: str
    repeated: bool = False

    @cached_property
    def words(self) -> dict[str, str]:
        """The words by the full names of their records."""
        return {record: word for word, record in self.records.items()}


@dataclass(frozen=True)
class OpenJson:
    """How text that holds JSON (`x_json`) stands for the member `x`.

    quoted: a string becomes a JSON string; else it stands for itself.
    pointed: a double without fraction beyond the safe integers keeps its point or exponent.
    strict: text that is no I-JSON is shown as `Unread`, and null is a value in sparse records;
    else any text that is no I-JSON is shown as a string.
    """

    quoted: bool = False
    pointed: bool = False
    strict: bool = False


@dataclass(frozen=True)
class Repetition:
    """Members of the objects in a list that Avro leaves null where they repeat what is above.

    members: member of the objects → member of the record that holds the list.
    """

    list: str
    record: str
    members: Mapping[str, str]


@dataclass(frozen=True)
class JsonMapping:
    """The JSON of the records of some namespaces.  Records are named in full.

    tags: record → the word that its JSON form has as member `type`.
    discriminators: by the record that holds the union.
    sparse: records whose absent members are left out, here and in what they hold; in others, which
    the service writes, they are null.
    repetitions: by the record that holds the list.
    null_is_absent: null for a required member is as if it were not there.
    kept_names: fields called `…_json` that are called so in JSON too.
    codes: of broken shapes.  codes_of: of those of single records instead.
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
        """The JSON member of an Avro field that holds JSON as text, None for any other field."""
        if not name.endswith("_json"):
            return None
        return name if name in self.kept_names else name.removesuffix("_json")

    @cached_property
    def tagged(self) -> dict[str, str]:
        """The records that have a tag, by it."""
        return {word: record for record, word in self.tags.items()}

    @cached_property
    def filled(self) -> dict[str, Mapping[str, str]]:
        """Record → the members that are null in Avro only, since they repeat what is above."""
        return {each.record: each.members for each in self.repetitions.values()}

    @cached_property
    def discriminating(self) -> dict[str, str]:
        """Record → the discriminator's member that its JSON may have, with a field or without."""
        found = {record: each.member for record, each in self.discriminators.items()}
        for each in self.discriminators.values():
            if each.repeated:
                found |= dict.fromkeys(each.records.values(), each.member)
        return found
