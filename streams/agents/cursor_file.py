"""How far an example agent has read its inbox: a file with a cursor."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from streams.log.cursors import EARLIEST

_NAME_BYTES = 200


def place_of(agent_id: str, state_dir: Path) -> Path:
    """The file of an agent's cursor; of a name too long for a file, its hash stands for it."""
    name = quote(agent_id, safe="")
    if len(name) > _NAME_BYTES:
        name = sha256(agent_id.encode()).hexdigest()
    return state_dir / "agents" / f"{name}.cursor"


def start_of(place: Path) -> str:
    """Where to go on; the beginning without a file."""
    return place.read_text().strip() if place.exists() else EARLIEST


def kept(place: Path, cursor: str) -> None:
    """In one step: it is the old one or the new one, whenever it is read."""
    place.parent.mkdir(parents=True, exist_ok=True)
    new = place.with_suffix(".new")
    new.write_text(cursor)
    new.replace(place)
