"""The cursor file of an example agent, which holds its position in the inbox."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from streams.log.cursors import EARLIEST

_NAME_BYTES = 200


def place_of(agent_id: str, state_dir: Path) -> Path:
    """Return the file of an agent's cursor."""
    return state_dir / "agents" / f"{file_stem(agent_id)}.cursor"


def file_stem(agent_id: str) -> str:
    """Return an agent's name in file names; one that is too long is replaced by its hash."""
    name = quote(agent_id, safe="")
    return sha256(agent_id.encode()).hexdigest() if len(name) > _NAME_BYTES else name


def start_of(path: Path) -> str:
    """Return the cursor to start from; the beginning without a file."""
    return path.read_text().strip() if path.exists() else EARLIEST


def write_cursor(path: Path, cursor: str) -> None:
    """Write the cursor atomically: a reader sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(cursor)
    new.replace(path)
