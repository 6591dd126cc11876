"""A reader of strict YAML 1.2 with the core schema: no merge keys, no times, keys are strings.

Source: YAML 1.2.2, 10.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE = "tag:yaml.org,2002:"
_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLEANS = {
    word: word.lower() == "true" for w in ("true", "false") for word in (w, w.title(), w.upper())
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MAX_DIGITS = 400
_MAX_NESTING = 1000
"""Deeper values are refused: how deep Python's own recursion reaches differs by its version."""
_MISSING: Any = object()


class NotYaml(ValueError):
    """An error for a text that is not one document of YAML 1.2 with the core schema.

    The message is a predicate: "has ...".
    """


def read_yaml(body: bytes | str, max_bytes: int) -> Any:
    """Return the JSON value of a text in YAML; aliases share the value of their anchor.

    max_bytes: about the size that the value may have as JSON with its aliases expanded.

    Raises NotYaml.  The caller has to check for infinity, NaN, lone surrogates and large integers.
    """
    try:
        text = body if isinstance(body, str) else body.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise NotYaml("is not UTF-8") from exc
    return _ValueBuilder(max_bytes).read(text)


@dataclass
class _OpenCollection:
    """A list or an object that is being read.

    size: about that of its JSON, with aliases expanded.
    """

    value: Any
    anchor: str | None
    size: int = 2
    key: Any = _MISSING


class _ValueBuilder:
    """A builder of a JSON value from the events of a YAML text."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._open: list[_OpenCollection] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._root: Any = _MISSING
        self._documents = 0

    def read(self, text: str) -> Any:
        try:
            for event in yaml.parse(text, Loader=_PARSER):
                self._handle(event)
        except yaml.YAMLError as exc:
            mark = getattr(exc, "problem_mark", None)
            line = f" in line {mark.line + 1}" if mark is not None else ""
            raise NotYaml(f"is not YAML{line}") from exc
        except RecursionError as exc:
            raise NotYaml("nests too deeply") from exc
        if self._documents != 1 or self._root is _MISSING:
            raise NotYaml("is not one document")
        return self._root

    def _handle(self, event: Any) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise NotYaml("is more than one document")
            case yaml.ScalarEvent():
                value = _scalar_value(event)
                self._add(value, len(event.value) + 2, event.anchor)
            case yaml.AliasEvent():
                if event.anchor not in self._anchors:
                    raise NotYaml("has an alias of what is not there yet")
                self._add(*self._anchors[event.anchor], None)
            case yaml.SequenceStartEvent():
                _check_collection_tag(event, "seq")
                self._begin(_OpenCollection([], event.anchor))
            case yaml.MappingStartEvent():
                _check_collection_tag(event, "map")
                self._begin(_OpenCollection({}, event.anchor))
            case yaml.CollectionEndEvent():
                self._close()

    def _begin(self, collection: _OpenCollection) -> None:
        if len(self._open) == _MAX_NESTING:
            raise NotYaml("nests too deeply")
        self._open.append(collection)

    def _close(self) -> None:
        done = self._open.pop()
        self._add(done.value, done.size, done.anchor)

    def _add(self, value: Any, weight: int, anchor: str | None) -> None:
        if weight > 4 * self._max_bytes:  # the text may be shorter as JSON
            what = f"has more than {self._max_bytes} bytes when its aliases are spelled out"
            raise NotYaml(what)
        if anchor is not None:
            self._anchors[anchor] = (value, weight)
        if not self._open:
            self._root = value
            return
        top = self._open[-1]
        top.size += weight + 1
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is _MISSING:
            if not isinstance(value, str):
                raise NotYaml("has a key that is no string")
            if value in top.value:
                raise NotYaml("has a key twice")
            top.key = value
        else:
            top.value[top.key] = value
            top.key = _MISSING


def _check_collection_tag(event: Any, core: str) -> None:
    if event.tag is not None and event.tag != _CORE + core:
        raise NotYaml("has a tag that is not of the core schema")


def _scalar_value(event: Any) -> Any:
    text = str(event.value)
    if event.tag is None:
        return _plain_value(text) if event.implicit[0] else text
    kind = event.tag.removeprefix(_CORE)
    if kind == "str":
        return text
    value = _plain_value(text)
    if kind not in _TAGS or not _TAGS[kind](value):
        raise NotYaml("has a tag that is not of the core schema, or not of its value")
    return float(value) if kind == "float" else value


_TAGS: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: type(value) is int,
    "float": lambda value: type(value) in (int, float),
}


def _plain_value(text: str) -> Any:
    """Return the value of an unquoted scalar."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        if len(text) > _MAX_DIGITS:
            return float("inf")
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text[2:] if base != 10 else text, base)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", ""))
    return text
