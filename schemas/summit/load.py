"""Manifests from files (spec 6.5)."""

from __future__ import annotations

from pathlib import Path

from schemas.summit.models import SummitManifest
from schemas.summit.yaml_form import read_manifest


def load_manifest(path_or_text: Path | str | bytes) -> SummitManifest:
    """The manifest in a file, or in a text; YAML or JSON.

    A string of one line that does not begin with `{` is a path.  Raises ShapeError
    (`manifest.yaml`, `json.invalid`, or `manifest.shape` for what is no object) and OSError; what
    else breaks the rules, `check()` tells.
    """
    return SummitManifest.from_json(read_manifest(_text(path_or_text)))


def _text(told: Path | str | bytes) -> bytes | str:
    if isinstance(told, bytes):
        return told
    if isinstance(told, str) and ("\n" in told or told.lstrip().startswith("{")):
        return told
    return Path(told).read_bytes()
