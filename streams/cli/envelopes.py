"""Envelopes of SAP for `sap explain`: files handled in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streams.engine.log import Log
from streams.engine.records import Output
from streams.errors import InvalidInput
from streams.settings import Settings
from streams.view_store.view import View
from topology.sap import SAP_RESULTS, SAP_TASKS

_TOPICS = {"TASK": SAP_TASKS, "RESULT": SAP_RESULTS}


def encode_envelope(subject: str, value: Any, settings: Settings) -> Output:
    """Encode an envelope.  subject: `TASK` or `RESULT`.

    Raises InvalidInput with all problems of an envelope that no record can carry.
    """
    from schemas import sap
    from streams.processing.encode import encode_value

    try:
        return encode_value(_TOPICS[subject], value, settings)
    except InvalidInput as exc:
        raise InvalidInput(sap.validate(subject.lower(), value) or exc.problems) from exc


@contextmanager
def run_in_memory(
    outputs: Sequence[Output], settings: Settings, now_ms: int
) -> Iterator[tuple[Log, View]]:
    """Run the real processors on the records, in memory and at `now_ms`; yield log and view."""
    from streams.engine.local import LocalHost
    from streams.engine.memory import MemoryLog
    from streams.ops.topics import create_topics
    from streams.protocols.commands import all_processors, bind_files

    bind_files(settings)
    log = MemoryLog(lambda: now_ms)
    create_topics(log, settings)
    with tempfile.TemporaryDirectory(prefix="headrace-explain-") as folder:
        host = LocalHost(log, all_processors, settings, Path(folder) / "state")
        try:
            for output in outputs:
                log.append([output])
                host.run()
            with View(log, Path(folder) / "view", settings.prefix, lambda: now_ms) as view:
                view.catch_up(0)
                yield log, view
        finally:
            host.close()
