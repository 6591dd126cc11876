"""The envelope types of all protocols, by name."""

from __future__ import annotations

from collections.abc import Mapping

from streams.errors import UsageError
from streams.processing.ingress import EnvelopeType
from streams.protocols.commands import COMMANDS

KINDS: Mapping[str, EnvelopeType] = {kind.name: kind for side in COMMANDS for kind in side.kinds}


def kind_of(name: str) -> EnvelopeType:
    """Return the envelope type of that name.  Raises UsageError if there is none."""
    if name not in KINDS:
        raise UsageError(f"{name} is not a kind of envelope", advice=f"Kinds: {', '.join(KINDS)}.")
    return KINDS[name]
