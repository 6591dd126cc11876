"""Events lose their secrets before they are produced (spec saop 5.4).

The processor masks whatever comes, but what it reads has lain on the log; so every edge does the
same first.
"""

from __future__ import annotations

from typing import Any

from streams.masking import Block, Masker


class Blocks:
    """The private key blocks that one producer is inside of, by session.

    `headrace send` keeps them for a run, the gateway for a request, a client for its life.
    """

    def __init__(self) -> None:
        self._open: dict[str, Block] = {}

    def copy(self) -> Blocks:
        copied = Blocks()
        copied._open = dict(self._open)
        return copied

    def pulse(self, session_id: str, line: str, masker: Masker, now_ms: int) -> str:
        """The session's next line, masked."""
        shown, block = masker.pulse(line, self._open.pop(session_id, None), now_ms)
        if block is not None:
            self._open[session_id] = block
        return shown


def masked(event: dict[str, Any], masker: Masker, now_ms: int, blocks: Blocks) -> dict[str, Any]:
    """A valid event in its JSON form as it may be produced."""
    payload = event["payload"]
    match payload["type"]:
        case "SANDBOX_PULSE":
            line = blocks.pulse(event["session_id"], payload["line"], masker, now_ms)
            changed = {"line": line, "masked": payload["masked"] or line != payload["line"]}
        case "TOOL_LIFECYCLE_INVOKED":
            changed = {"arguments": masker.arguments(payload["arguments"])[0]}
        case _:
            return event
    return {**event, "payload": {**payload, **changed}}
