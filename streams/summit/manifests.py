"""Manifests as agents and operators give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schemas import Problem, ShapeError, summit
from streams.summit.errors import ManifestRejected


def read_manifest(given: Any) -> summit.SummitManifest:
    """given: a model, its JSON, its YAML or JSON text, or the path of a file.

    Raises ManifestRejected for one that is not valid, OSError for a file that is not there.
    """
    try:
        found = _read(given)
    except ShapeError as exc:
        raise rejected([exc.problem]) from exc
    if problems := found.check():
        raise rejected(problems)
    return found


def _read(given: Any) -> summit.SummitManifest:
    if isinstance(given, summit.SummitManifest):
        return given
    if isinstance(given, Path | str | bytes):
        return summit.load_manifest(given)
    if isinstance(given, Mapping):
        return summit.SummitManifest.from_json(dict(given))
    raise TypeError(f"{type(given).__name__} is no manifest")


def rejected(problems: Sequence[Problem]) -> ManifestRejected:
    """By the rule that decides, which comes first."""
    first = problems[0]
    errors = [{"path": found.path, "message": found.message} for found in problems]
    return ManifestRejected(first.rule, errors, first.message)
