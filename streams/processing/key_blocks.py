"""Masking of private keys that a producer sends line by line (SAOP guide, 5.4).

The processor masks every record, but its input is on the log; therefore every edge masks first.
"""

from __future__ import annotations

from streams.masking import Block, Masker


class Blocks:
    """The open private key blocks of one producer, by session.

    `headrace send` has one object for a run, the gateway one for a request, a client one for its
    life.
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
