"""The committed examples of each kind of envelope, valid and not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from streams.ingress.edges import EDGES
from streams.processing.lines import read_value
from tests.fuzz.json_inputs import ODD

EXAMPLES = Path(__file__).parents[2] / "schemas/examples"
TOPICS = tuple(EDGES)


def texts() -> list[bytes]:
    return [path.read_bytes() for path in sorted(EXAMPLES.rglob("*.json"))]


def seeds() -> list[bytes]:
    """Every example for every topic that may take it by its folder."""
    inputs = []
    for path in sorted(EXAMPLES.rglob("*.json")):
        protocol = path.relative_to(EXAMPLES).parts[0]
        named = [n for n, topic in enumerate(TOPICS) if topic.startswith(protocol)]
        inputs += [bytes([n]) + path.read_bytes() for n in named]
    return inputs + [bytes([0]) + json.dumps(odd).encode() for odd in ODD]


def picked(data: bytes) -> tuple[str, Any]:
    """The topic that the first byte picks, and the value or `Unparsed` of the rest."""
    return TOPICS[data[0] % len(TOPICS)], read_value(data[1:])
