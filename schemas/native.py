"""The choice between the compiled codec (`native/`) and the Python functions, which it must equal.

The compiled one is used where its module is installed, unless HEADRACE_NATIVE is `off`.  It hands
whatever is not plainly right to the Python functions, so values, bytes, errors and their messages
are the same with either.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from schemas.decoder import Decode, compile_decoder
from schemas.encoder import AvroBody, compile_encoder
from schemas.sources import Schema

try:
    import headrace_native
except ImportError:
    headrace_native = None

Fits = Callable[[Any], bool]
RecordMacs = Callable[[bytes, Sequence[Any]], list[bytes]]
"""Takes a key and records, and returns the texts of their MACs (`streams.engine.record_mac`)."""
EncodeFramed = Callable[[bytes, dict[str, Any]], bytes]
"""Takes the frame's bytes and a value, and returns both; raises what `compile_encoder` says."""
VARIABLE = "HEADRACE_NATIVE"
"""The setting's variable, read here, since programs that load no settings encode and decode too."""
_VERSION = "1.1.0"
"""The version of the compiled module that this version of headrace works with."""


class Functions(NamedTuple):
    """Encoding and decoding of one record."""

    encode: EncodeFramed
    decode: Decode


def describe() -> str:
    """Return which codec encodes and decodes in this process, in words for logs."""
    reason = _reason_for_python()
    return f"compiled, {_VERSION}" if reason is None else f"Python ({reason})"


def is_installed() -> bool:
    """Return whether the compiled codec is installed in the version that fits."""
    return headrace_native is not None and headrace_native.VERSION == _VERSION


def is_outdated() -> bool:
    """Return whether the compiled codec is installed in a version that does not fit."""
    return headrace_native is not None and not is_installed()


def _reason_for_python() -> str | None:
    if os.environ.get(VARIABLE) == "off":
        return f"{VARIABLE} is off"
    if headrace_native is None:
        return "the compiled codec is not installed"
    if not is_installed():
        return f"the compiled codec is {headrace_native.VERSION}, not {_VERSION}"
    return None


def compile_functions(schema: Schema) -> Functions:
    """Return the fastest functions for a self-contained record schema."""
    is_compiled = _reason_for_python() is None and not has_bytes(schema)
    return compiled_functions(schema) if is_compiled else python_functions(schema)


def has_bytes(schema: Any) -> bool:
    """Return whether a schema has the type `bytes`, which the compiled codec does not know."""
    if isinstance(schema, list):
        return any(map(has_bytes, schema))
    if isinstance(schema, dict):
        return any(has_bytes(schema.get(part)) for part in ("type", "items", "values", "fields"))
    return bool(schema == "bytes")


def python_functions(schema: Schema) -> Functions:
    """Return the reference: functions in Python, made from the schema."""
    append = compile_encoder(schema)

    def encode(frame: bytes, value: dict[str, Any]) -> bytes:
        out = bytearray(frame)
        append(value, out)
        return bytes(out)

    return Functions(encode, compile_decoder(schema))


def compiled_functions(schema: Schema) -> Functions:
    """Return the compiled functions, over those of `python_functions`."""
    reference = python_functions(schema)
    codec = headrace_native.Codec(json.dumps(schema), AvroBody, *reference)
    return Functions(codec.encode, codec.decode)


def compile_shape(rule: Any) -> Fits:
    """Return a check of whether a JSON value plainly fits a rule of `schemas.shapes`.

    Where it returns False, the value may fit all the same: a Python one always does.
    """
    return _fits_never if _reason_for_python() is not None else compiled_shape(rule)


def compiled_shape(rule: Any) -> Fits:
    """Return the compiled check.  Raises ValueError for a rule that is not supported."""
    fits: Fits = headrace_native.Shape(json.dumps(rule)).fits
    return fits


def _fits_never(value: Any) -> bool:
    return False


def choose_number_check(in_python: Fits) -> Fits:
    """Return the compiled check of numbers for RFC 8785, or the one in Python that it equals."""
    if _reason_for_python() is not None:
        return in_python
    check: Fits = headrace_native.has_rfc8785_numbers
    return check


def choose_record_macs(in_python: RecordMacs) -> RecordMacs:
    """Return the compiled function that makes MACs, or the one in Python that it equals."""
    return in_python if _reason_for_python() is not None else compiled_record_macs() or in_python


def compiled_record_macs() -> RecordMacs | None:
    """Return the compiled function, None where a module without it is installed."""
    function: RecordMacs | None = getattr(headrace_native, "record_macs", None)
    return function
