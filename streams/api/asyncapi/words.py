"""Pieces of text."""

from __future__ import annotations


def sentence(meaning: str) -> str:
    """What a declaration says, as a sentence."""
    return f"{meaning[:1].upper()}{meaning[1:]}."
