"""Readers of manifests, texts or files: strict YAML 1.2, or JSON (Summit guide, 2.1, 3, 6.5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from schemas.canonical import has_lone_surrogate
from schemas.problems import ShapeError
from schemas.summit import rules
from schemas.summit.ijson import number_fault, read_json, size
from schemas.summit.models import SummitManifest
from schemas.summit.words import MAX_MANIFEST_BYTES
from schemas.yaml_reader import NotYaml, read_yaml


def read_manifest(body: bytes | str) -> Any:
    """Return the JSON value of a manifest's text; JSON is tried first for one that begins with `{`.

    Raises ShapeError `manifest.yaml` for a text that is not one document of YAML 1.2 with the core
    schema, or over 262,144 bytes of canonical JSON; `json.invalid` for a value that is no I-JSON.
    """
    text = body if isinstance(body, str) else _decode(body)
    if text.lstrip().startswith("{"):
        try:
            return read_json(text)
        except ShapeError as exc:
            if exc.rule != rules.JSON_PARSE.code:
                raise
    try:
        value = read_yaml(text, MAX_MANIFEST_BYTES)
    except NotYaml as exc:
        _refuse(str(exc))
    fault = "holds a lone surrogate" if has_lone_surrogate(value) else number_fault(value)
    if fault:
        raise ShapeError(rules.JSON_INVALID.code, "", f"The manifest {fault}.")
    if (size(value) or 0) > MAX_MANIFEST_BYTES:
        _refuse(f"has more than {MAX_MANIFEST_BYTES} bytes")
    return value


def _decode(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        _refuse("is not UTF-8")


def _refuse(what: str) -> NoReturn:
    raise ShapeError(rules.MANIFEST_YAML.code, "", f"The manifest {what}.")


def load_manifest(path_or_text: Path | str | bytes) -> SummitManifest:
    """Read a manifest from a file, or from a text; YAML or JSON.

    A string of one line that does not begin with `{` is a path.  Raises ShapeError
    (`manifest.yaml`, `json.invalid`, or `manifest.shape` for a value that is no object) and
    OSError;
    `check()` of the result returns violations of the other rules.
    """
    return SummitManifest.from_json(read_manifest(_read_text(path_or_text)))


def _read_text(path_or_text: Path | str | bytes) -> bytes | str:
    if isinstance(path_or_text, bytes):
        return path_or_text
    if isinstance(path_or_text, str) and (
        "\n" in path_or_text or path_or_text.lstrip().startswith("{")
    ):
        return path_or_text
    return Path(path_or_text).read_bytes()
