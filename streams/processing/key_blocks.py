"""Private keys that a producer sends line by line are known by their first line (spec saop 5.4).

The processor masks whatever comes, but what it reads has lain on the log; so every edge does the
same first.
"""

from __future__ import annotations

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

    def mask_line(self, session_id: str, line: str, masker: Masker, now_ms: int) -> str:
        """Return the session's next line, masked."""
        text, block = masker.pulse(line, self._open.pop(session_id, None), now_ms)
        if block is not None:
            self._open[session_id] = block
        return text
