"""Manifests as text: strict YAML 1.2 with the core schema, or JSON (spec 2.1, 3)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from schemas.canonical import has_lone_surrogate
from schemas.problems import ShapeError
from schemas.summit import rules
from schemas.summit.ijson import number_fault, read_json, size
from schemas.summit.words import MAX_MANIFEST_BYTES

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE = "tag:yaml.org,2002:"
_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLEANS = {
    word: word.lower() == "true" for w in ("true", "false") for word in (w, w.title(), w.upper())
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MOST_DIGITS = 400
_NONE: Any = object()


def read_manifest(body: bytes | str) -> Any:
    """The value of a manifest's text, as JSON has it; what begins with `{` may be JSON.

    Raises ShapeError `manifest.yaml` for what is not one document of YAML 1.2 with the core
    schema, or over 262,144 bytes of canonical JSON; `json.invalid` for what is no I-JSON.
    """
    text = body if isinstance(body, str) else _decoded(body)
    if text.lstrip().startswith("{"):
        try:
            return read_json(text)
        except ShapeError as exc:
            if exc.rule != rules.JSON_PARSE.code:
                raise
    value = _Builder().document(text)
    what = "holds a lone surrogate" if has_lone_surrogate(value) else number_fault(value)
    if what:
        raise ShapeError(rules.JSON_INVALID.code, "", f"The manifest {what}.")
    if (size(value) or 0) > MAX_MANIFEST_BYTES:
        _refuse(f"has more than {MAX_MANIFEST_BYTES} bytes")
    return value


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        _refuse("is not UTF-8")


def _refuse(what: str) -> NoReturn:
    raise ShapeError(rules.MANIFEST_YAML.code, "", f"The manifest {what}.")


@dataclass
class _Open:
    """A list or an object that is being read.  size: about that of its JSON, without aliases."""

    value: Any
    anchor: str | None
    size: int = 2
    key: Any = _NONE


class _Builder:
    """Makes a JSON value of the events of a YAML text.  What aliases stand for is shared."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._root: Any = _NONE
        self._documents = 0

    def document(self, text: str) -> Any:
        try:
            for event in yaml.parse(text, Loader=_PARSER):
                self._take(event)
        except yaml.YAMLError as exc:
            mark = getattr(exc, "problem_mark", None)
            line = f" in line {mark.line + 1}" if mark is not None else ""
            _refuse(f"is not YAML{line}")
        except RecursionError:
            _refuse("nests too deeply")
        if self._documents != 1 or self._root is _NONE:
            _refuse("is not one document")
        return self._root

    def _take(self, event: Any) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    _refuse("is more than one document")
            case yaml.ScalarEvent():
                value = _scalar(event)
                self._add(value, len(event.value) + 2, event.anchor)
            case yaml.AliasEvent():
                if event.anchor not in self._anchors:
                    _refuse("has an alias of what is not there yet")
                self._add(*self._anchors[event.anchor], None)
            case yaml.SequenceStartEvent():
                _structure(event, "seq")
                self._open.append(_Open([], event.anchor))
            case yaml.MappingStartEvent():
                _structure(event, "map")
                self._open.append(_Open({}, event.anchor))
            case yaml.CollectionEndEvent():
                self._close()

    def _close(self) -> None:
        done = self._open.pop()
        self._add(done.value, done.size, done.anchor)

    def _add(self, value: Any, weight: int, anchor: str | None) -> None:
        if weight > 4 * MAX_MANIFEST_BYTES:
            _refuse(f"has more than {MAX_MANIFEST_BYTES} bytes when its aliases are spelled out")
        if anchor is not None:
            self._anchors[anchor] = (value, weight)
        if not self._open:
            self._root = value
            return
        top = self._open[-1]
        top.size += weight + 1
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is _NONE:
            if not isinstance(value, str):
                _refuse("has a key that is no string")
            if value in top.value:
                _refuse("has a key twice")
            top.key = value
        else:
            top.value[top.key] = value
            top.key = _NONE


def _structure(event: Any, core: str) -> None:
    if event.tag is not None and event.tag != _CORE + core:
        _refuse("has a tag that is not of the core schema")


def _scalar(event: Any) -> Any:
    text = str(event.value)
    if event.tag is None:
        return _plain(text) if event.implicit[0] else text
    kind = event.tag.removeprefix(_CORE)
    if kind == "str":
        return text
    value = _plain(text)
    if kind not in _TAGS or not _TAGS[kind](value):
        _refuse("has a tag that is not of the core schema, or not of its value")
    return float(value) if kind == "float" else value


_TAGS: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: type(value) is int,
    "float": lambda value: type(value) in (int, float),
}


def _plain(text: str) -> Any:
    """The value of a scalar without quotes."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        if len(text) > _MOST_DIGITS:
            return float("inf")
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text[2:] if base != 10 else text, base)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", ""))
    return text
