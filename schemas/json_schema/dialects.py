"""The drafts of JSON Schema that a contract may name, and the keywords of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from jsonschema import Draft7Validator, Draft201909Validator, Draft202012Validator
from referencing.jsonschema import DRAFT7, DRAFT201909, DRAFT202012

from schemas.json_schema.keywords import with_own_keywords


class Dialect(NamedTuple):
    """stock: the validator of `jsonschema`.  validator: the same with keywords of our own."""

    stock: Any
    validator: Any
    specification: Any
    keywords: frozenset[str]


def _members(resolver: Any, metaschema: Any) -> Iterator[str]:
    """What a metaschema and those it is made of describe."""
    yield from metaschema.get("properties", {})
    for part in metaschema.get("allOf", ()):
        found = resolver.lookup(part["$ref"])
        yield from _members(found.resolver, found.contents)


def _dialect(stock: Any, specification: Any) -> Dialect:
    metaschema = stock.META_SCHEMA
    keywords = frozenset(_members(stock(metaschema)._resolver, metaschema))
    return Dialect(stock, with_own_keywords(stock), specification, keywords)


_NEWEST = "https://json-schema.org/draft/2020-12/schema"
_DIALECTS = {
    _NEWEST: _dialect(Draft202012Validator, DRAFT202012),
    "https://json-schema.org/draft/2019-09/schema": _dialect(Draft201909Validator, DRAFT201909),
    "https://json-schema.org/draft-07/schema": _dialect(Draft7Validator, DRAFT7),
}


def dialect_of(named: object) -> Dialect | None:
    """By the value of `$schema`, None if absent; None if it is no draft known here."""
    if named is None:
        return _DIALECTS[_NEWEST]
    if not isinstance(named, str):
        return None
    uri = named.removesuffix("#")
    if uri.startswith("http://"):
        uri = "https://" + uri.removeprefix("http://")
    return _DIALECTS.get(uri)
