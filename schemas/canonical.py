"""Canonical JSON (RFC 8785), hashes over it, and strict reading of I-JSON (RFC 7493)."""

from __future__ import annotations

import hashlib
import json
import math
import re
import uuid
from typing import Any, NoReturn

import orjson
import rfc8785

from schemas.native import choose_number_check
from schemas.problems import ShapeError
from schemas.text_cache import cache_short

MAX_SAFE_INTEGER = 2**53 - 1

_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)

# Keys are sorted by UTF-8 bytes there, by UTF-16 units here: these differ beyond U+FFFF only.
_ASTRAL = re.compile(rb"[\xf0-\xf7]")


def canonical_json(value: Any) -> bytes:
    """Return the RFC 8785 form of a JSON value.

    An integer beyond ±(2^53 - 1) is written as the nearest double, as the RFC requires.  Raises
    ValueError for NaN, infinities, lone surrogates and values that are not JSON.
    """
    try:
        text = orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        return _dump_rfc8785(value)
    if (text.isascii() or not _ASTRAL.search(text)) and _numbers_are_same(value):
        return text
    return _dump_rfc8785(value)


def has_rfc8785_numbers(value: Any) -> bool:
    """Return whether orjson spells every number in a value as RFC 8785 does.

    It does not where a float is integral (1.0), is written with an exponent (1e16, 1e-7), or is
    not finite (null), and where an integer is beyond the exact range of doubles.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is dict or kind is list:
        for item in value.values() if kind is dict else value:
            # Strings are most of it, and are not worth a call.
            if type(item) is not str and not has_rfc8785_numbers(item):
                return False
        return True
    if kind is int:
        return bool(-MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER)
    if kind is float:
        return bool(1e-4 < abs(value) < 1e15 and not value.is_integer())
    return False


_numbers_are_same = choose_number_check(has_rfc8785_numbers)


def _dump_rfc8785(value: Any) -> bytes:
    try:
        return rfc8785.dumps(_with_float_integers(value))
    except (OverflowError, RecursionError, UnicodeError) as exc:
        raise ValueError(f"no RFC 8785 form: {exc}") from exc


def _with_float_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_float_integers(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_float_integers(item) for item in value]
    if isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER:
        return float(value)
    return value


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


_URL = uuid.NAMESPACE_URL.bytes


@cache_short(4096)
def uuid5_url(name: str) -> str:
    """Return the UUIDv5 of a name in the URL namespace, in lower case (RFC 9562, section 5.5).

    The result is that of `uuid.uuid5`, in a third of the time: each record needs several.
    """
    digest = hashlib.sha1(_URL + name.encode(), usedforsecurity=False).hexdigest()
    variant = "89ab"[int(digest[16], 16) & 3]
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


def parse_ijson(text: str | bytes, *, surrogates: bool = False) -> Any:
    """Parse an I-JSON text: UTF-8, no duplicate names, no lone surrogates.

    A number beyond the range of doubles becomes an infinity, so that the rule of its member can
    report it.
    surrogates: accept lone surrogates, for protocols that have their own rule for them.
    Raises ShapeError `json_invalid`.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        value = _DECODER.decode(text)
        may_hold = "\\u" in text or not text.isascii()
        if not surrogates and may_hold and has_lone_surrogate(value):
            raise ValueError("a string has a lone surrogate")
    except (ValueError, RecursionError) as exc:
        raise ShapeError("json_invalid", "", f"The text is not I-JSON: {_reason(exc)}.") from exc
    return value


def _reason(exc: Exception) -> str:
    if isinstance(exc, json.JSONDecodeError):
        return f"{exc.msg} at character {exc.pos}"
    return "it is nested too deeply" if isinstance(exc, RecursionError) else str(exc)


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has two members of one name")
    return members


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _parse_integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= 309 else math.copysign(math.inf, -(digits[0] == "-") or 1)


def has_lone_surrogate(value: Any) -> bool:
    """Return whether a string in a JSON value, member names included, has a lone surrogate."""
    try:
        orjson.dumps(value)
    except TypeError:  # of this, or of something else that orjson does not write
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            return True
    return False


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_members, parse_constant=_refuse_constant, parse_int=_parse_integer
)
