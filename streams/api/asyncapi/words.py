"""Sentences made from the meanings of declarations."""

from __future__ import annotations


def sentence(meaning: str) -> str:
    """Return a declaration's meaning as a sentence."""
    return f"{meaning[:1].upper()}{meaning[1:]}."
