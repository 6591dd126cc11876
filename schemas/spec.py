"""The declaration of one protocol in this layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from schemas.json_mapping.mapping import JsonMapping
from schemas.problems import Problem

Validate = Callable[[object], list[Problem]]
"""What breaks the rules in a JSON value; empty for a valid one."""


@dataclass(frozen=True)
class Spec:
    """One protocol: its records, the kinds that can be validated, its JSON.

    records: the full names of the records that topics and tables hold, in the order of their first
    schema ids.  kinds: validations by name.  export: makes the JSON Schemas, texts by their paths
    below `json/`.  mapping: how the protocol's JSON differs from its records.
    unions: the records of each union that the Avro sources name, by that name.
    sources: makes the Avro sources that derive from models, texts by their paths below `avro/`.
    meanings: one line about each member, for documents, by `Object.member`; by `member` alone for
    one that means the same in every object.
    """

    name: str
    records: tuple[str, ...]
    kinds: Mapping[str, Validate]
    export: Callable[[], dict[str, str]]
    mapping: JsonMapping
    unions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: Callable[[], dict[str, str]] = field(default=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
