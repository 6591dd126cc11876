"""What a program prints, line by line, as the sandbox output of a session."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import BinaryIO

from streams.engine.headers import iso
from streams.engine.records import Output
from streams.processing.encode import to_output
from streams.processing.key_blocks import Blocks
from streams.protocols.saop import ingress
from streams.settings.service import ServiceSettings
from topology.core import RTES_RAW

TOPIC = RTES_RAW


def pulses(
    file: BinaryIO, session_id: str, clock: Callable[[], int], settings: ServiceSettings
) -> Iterator[Output]:
    """A SANDBOX_PULSE, masked, for each line as soon as it is there.

    Bytes that are not UTF-8 are written as \\xNN.  clock: ms since the epoch.
    Raises OutputTooLarge at a line above the record limit.
    """
    edge, blocks = ingress.EVENTS, Blocks()
    for line in iter(file.readline, b""):
        text = line.decode(errors="backslashreplace").rstrip("\r\n")
        payload = {"type": "SANDBOX_PULSE", "line": text, "masked": False}
        now = clock()
        payload["timestamp"] = iso(now).decode()
        event = {"event_id": str(uuid.uuid4()), "session_id": session_id, "payload": payload}
        yield to_output(edge, event, now, settings, blocks)
