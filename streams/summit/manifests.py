"""Reading of manifests that agents and operators pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schemas import Problem, ShapeError, summit
from streams.summit.errors import ManifestRejected


def read_manifest(source: Any) -> summit.SummitManifest:
    """Read and check a manifest.

    source: a model, its JSON, its YAML or JSON text, or the path of a file.
    Raises ManifestRejected for an invalid manifest, OSError for a missing file.
    """
    try:
        manifest = _read(source)
    except ShapeError as exc:
        raise manifest_rejected([exc.problem]) from exc
    if problems := manifest.check():
        raise manifest_rejected(problems)
    return manifest


def _read(source: Any) -> summit.SummitManifest:
    if isinstance(source, summit.SummitManifest):
        return source
    if isinstance(source, Path | str | bytes):
        return summit.load_manifest(source)
    if isinstance(source, Mapping):
        return summit.SummitManifest.from_json(dict(source))
    raise TypeError(f"{type(source).__name__} is no manifest")


def manifest_rejected(problems: Sequence[Problem]) -> ManifestRejected:
    """Build the error; the first problem decides its rule and message."""
    first = problems[0]
    errors = [{"path": problem.path, "message": problem.message} for problem in problems]
    return ManifestRejected(first.rule, errors, first.message)
