"""The neutral workload: changes of tickets, the decision on each, and what must come out.

A change asks for an action on a ticket; the row of the ticket has its state; the outcome says what
the state was and is, and whether the action was legal.  20,000 tickets, six actions, of which a
third is legal: about 260 bytes a change, 120 an outcome.  Every system decides this with its own
codec; `expected` is computed here, from the changes alone.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, cast

import fastavro

AVRO = Path(__file__).parent / "avro"
CHANGES, OUTCOMES = "neutral.changes", "neutral.outcomes"
IDS = {"change": 1, "outcome": 2, "ticket": 3}
"""Schema ids in the frames: below those of any catalogue."""
FRAME_BYTES = 5
TICKETS = 20_000
FIRST_STATE = "open"
ACTIONS = ("take", "ask", "answer", "finish", "drop", "reopen")
NEXT_STATES = {
    ("open", "take"): "active",
    ("active", "ask"): "waiting",
    ("waiting", "answer"): "active",
    ("active", "finish"): "done",
    ("active", "drop"): "dropped",
    ("done", "reopen"): "open",
    ("dropped", "reopen"): "open",
}
REASON = "not allowed"
SEED = 11
NOTES = {"goal": "summarise the report of the quarter", "tool": "search", "text": "x" * 80}


class Decision(NamedTuple):
    """The state before and after, which an outcome must say."""

    before: str
    after: str
    legal: bool


def source(name: str) -> dict[str, Any]:
    """Return the Avro schema of this name, as it is in its file."""
    document: dict[str, Any] = json.loads((AVRO / f"{name}.avsc").read_text(encoding="utf-8"))
    return document


SCHEMAS = {name: fastavro.parse_schema(source(name)) for name in IDS}


def frame(name: str) -> bytes:
    return b"\x00" + IDS[name].to_bytes(4, "big")


def write(name: str, value: dict[str, Any]) -> bytes:
    """Encode and frame a value."""
    out = BytesIO()
    out.write(frame(name))
    fastavro.schemaless_writer(out, SCHEMAS[name], value)
    return out.getvalue()


def read(name: str, data: bytes) -> dict[str, Any]:
    """Decode a framed value.  Raises ValueError for another frame."""
    if data[:FRAME_BYTES] != frame(name):
        raise ValueError(f"{data[:FRAME_BYTES].hex()} is not the frame of a {name}")
    stream = BytesIO(data)
    stream.seek(FRAME_BYTES)
    return cast(dict[str, Any], fastavro.schemaless_reader(stream, SCHEMAS[name], None))


def changes(count: int, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Yield changes, numbered from 0; the same for the same seed."""
    rnd = random.Random(seed)
    for number in range(count):
        yield {
            "ticket": f"ticket-{rnd.randrange(TICKETS):06d}",
            "number": number,
            "action": rnd.choice(ACTIONS),
            "actor": f"actor-{number % 50}",
            "at": 1_767_225_600_000 + number,
            "trace": f"{rnd.getrandbits(128):032x}",
            "parent": f"{number:08d}" if number % 3 == 0 else None,
            "notes": NOTES,
        }


def expected(count: int, seed: int = SEED) -> list[Decision]:
    """Return the decision on each change by its number."""
    states: dict[str, str] = {}
    decisions = []
    for change in changes(count, seed):
        before = states.get(change["ticket"], FIRST_STATE)
        after = NEXT_STATES.get((before, change["action"]))
        states[change["ticket"]] = after or before
        decisions.append(Decision(before, after or before, after is not None))
    return decisions
