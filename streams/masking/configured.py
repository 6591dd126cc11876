"""The masker for given settings; edges and processors share it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from streams.masking import Masker
from streams.settings.masking import MaskingSettings

_NAMES = ("MASK_KEY", "RTES_MASK_ARGUMENTS", "RTES_PEM_LINES", "RTES_PEM_S")


def masker_of(work: Mapping[str, Any]) -> Masker:
    """Return the masker for the settings as processors see them."""
    return _masker(*(work[name] for name in _NAMES))


def masker_for(settings: MaskingSettings) -> Masker:
    return _masker(
        settings.mask_key,
        settings.rtes_mask_arguments,
        settings.rtes_pem_lines,
        settings.rtes_pem_s,
    )


@lru_cache(maxsize=8)
def _masker(key: str | None, arguments: bool, lines: int, seconds: int) -> Masker:
    return Masker(key.encode() if key else None, arguments, lines, seconds)
