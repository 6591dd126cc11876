"""The neutral workload on Quix Streams: python -m bench.neutral.quix_streams, exactly once.

One stateful function on a streaming data frame; fastavro for the records, and for the row what its
state does by default, JSON by orjson.  Its own settings but the session timeout.
"""

from __future__ import annotations

import logging

from quixstreams import Application, State

from bench.neutral.step import decide, new_row
from bench.neutral.workload import CHANGES, OUTCOMES, read, write
from bench.peer import SESSION_TIMEOUT_S
from streams.settings import Settings


def outcome_of(data: bytes, state: State) -> bytes:
    """Decide a change by the state of its ticket."""
    row = state.get("row") or new_row()
    outcome = decide(read("change", data), row)
    state.set("row", row)
    return write("outcome", outcome)


def main() -> None:
    logging.basicConfig(level="WARNING")
    settings = Settings.load()
    app = Application(
        broker_address=settings.bootstrap,
        consumer_group=f"{settings.prefix}quix",
        auto_offset_reset="earliest",
        state_dir=settings.state_dir,
        processing_guarantee="exactly-once",
        consumer_extra_config={"session.timeout.ms": SESSION_TIMEOUT_S * 1000},
        loglevel="WARNING",
    )
    source = app.topic(
        settings.prefix + CHANGES, key_deserializer="bytes", value_deserializer="bytes"
    )
    sink = app.topic(settings.prefix + OUTCOMES, key_serializer="bytes", value_serializer="bytes")
    app.dataframe(source).apply(outcome_of, stateful=True).to_topic(sink)
    app.run()


if __name__ == "__main__":
    main()
