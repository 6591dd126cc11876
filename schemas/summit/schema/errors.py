"""Schema errors as Summit tells them: path and keyword (spec 2.6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from schemas.problems import pointer
from schemas.summit.words import MAX_PATH, MAX_SCHEMA_ERRORS

JsonObject = dict[str, Any]
Place = tuple[str | int, ...]
Error = tuple[Place, str]
_MAPS = ("properties", "patternProperties", "dependentSchemas", "unevaluatedProperties")
_EXTRA = ("additionalProperties", "unevaluatedProperties")


def told(errors: Iterable[Error], base: str) -> list[JsonObject]:
    """Sorted by path, then keyword, each once, at most 10.  base: the path of the value."""
    found = {(base + pointer(*place), keyword) for place, keyword in errors}
    return [
        {"path": path[:MAX_PATH], "keyword": keyword}
        for path, keyword in sorted(found)[:MAX_SCHEMA_ERRORS]
    ]


def of_fast(error: Any, value: Any) -> Iterator[Error]:
    """Of an error of `jsonschema_rs`.  value: the one that was validated."""
    place, kind = tuple(error.instance_path), type(error.kind).__name__
    way = error.evaluation_path
    keyword = keyword_at(way)
    if kind == "Required":
        yield (*place, error.kind.property), keyword
    elif kind == "PropertyNames":
        yield place, "propertyNames"
    elif keyword in _EXTRA and way[-1] == keyword:
        unexpected = getattr(error.kind, "unexpected", None)
        if unexpected is None:
            unexpected = _at(value, place)  # nothing is expected
        yield from (((*place, name), keyword) for name in unexpected)
    else:
        yield place, keyword


def of_counted(error: Any) -> Iterator[Error]:
    """Of an error of `jsonschema`, by keywords of our own."""
    place, way = tuple(error.absolute_path), list(error.absolute_schema_path)
    if error.validator == "enum" and not error.validator_value:
        way.pop()  # `graph.NOTHING`
    keyword, value = keyword_at(way), error.instance
    if "propertyNames" in way:
        yield place, "propertyNames"
    elif keyword == "required":
        yield from (
            ((*place, name), keyword) for name in error.validator_value if name not in value
        )
    elif keyword == "dependentRequired":
        for name, needed in error.validator_value.items():
            if name in value:
                yield from (((*place, one), keyword) for one in needed if one not in value)
    else:
        yield place, keyword


def keyword_at(way: list[str | int]) -> str:
    """The keyword at the end of a way through a schema.

    Where a schema is `false`, the way ends at it, and the keyword that it belongs to is told.
    """
    last = way[-1] if way else "false"
    if len(way) > 1 and (isinstance(last, int) or way[-2] in _MAPS):
        return str(way[-2])
    return str(last)


def _at(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value
