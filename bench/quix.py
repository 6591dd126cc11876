"""A peer: Quix Streams with the same processor, codec and outputs.

python -m bench.quix at-least-once|exactly-once [--processor apc|counts]
One stateful function over a streaming data frame; rows in its RocksDB state with the changelog, all
outputs by `to_topic`.  Its own defaults, a commit every five seconds among them, but the session
timeout, which is headrace's.  It has requirements of its own: `bench/peers.txt`.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import Any

from quixstreams import Application, State, message_context
from quixstreams.models.serializers import Serializer

from bench.peer import PROCESSORS, SESSION_TIMEOUT_S, Judge, Restored
from streams.engine.records import LogRecord, Output
from streams.settings import Settings

LOGGER = "quixstreams"
BEGUN, DONE = "Beginning recovery check", "Recovery process complete"


class Body(Serializer):
    """The value of an output record, which goes through the data frame as a whole."""

    def __call__(self, output: Output, *_: Any, **__: Any) -> bytes:
        return output.value or b""


class Watch(logging.Handler):
    """A log handler that detects when recovery begins and when it is complete."""

    def __init__(self, restored: Restored) -> None:
        super().__init__(logging.INFO)
        self._restored = restored

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message.startswith(BEGUN):
            self._restored.begun()
        elif message.startswith(DONE):
            self._restored.done()


def application(settings: Settings, guarantee: str) -> Application:
    return Application(
        broker_address=settings.bootstrap,
        consumer_group=f"{settings.prefix}quix",
        auto_offset_reset="earliest",
        state_dir=settings.state_dir,
        processing_guarantee=guarantee,
        consumer_extra_config={"session.timeout.ms": SESSION_TIMEOUT_S * 1000},
        loglevel=None,
    )


def build(app: Application, judge: Judge) -> None:
    """Build the topology: one input, one function with state, the outputs that it names."""
    source = app.topic(judge.input, key_deserializer="bytes", value_deserializer="bytes")
    topics = {
        name: app.topic(name, value_serializer=Body(), key_serializer="bytes")
        for name in judge.outputs
    }

    def decide(
        value: bytes, key: bytes, timestamp: int, headers: Any, state: State
    ) -> list[Output]:
        def read(keys: Sequence[bytes]) -> list[bytes | None]:
            return [state.get_bytes(key.decode()) for key in keys]

        place = message_context()
        record = LogRecord(
            place.topic, place.partition, place.offset, timestamp, key, value, headers or ()
        )
        effects = judge(record, read)
        for name, row in effects.rows.items():
            if row is None:
                state.delete(name.decode())
            else:
                state.set_bytes(name.decode(), row)
        return judge.sent(effects.outputs)

    frame = app.dataframe(source)
    frame = frame.apply(decide, stateful=True, metadata=True, expand=True)
    frame = frame.set_headers(lambda output, *_: list(output.headers))
    frame.to_topic(lambda output, *_: topics[output.topic], key=lambda output: output.key)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("guarantee", choices=("at-least-once", "exactly-once"))
    parser.add_argument("--processor", choices=tuple(PROCESSORS), default="apc")
    options = parser.parse_args()
    logging.basicConfig(level="WARNING")
    logging.getLogger(LOGGER).setLevel(logging.INFO)
    logging.getLogger(LOGGER).propagate = False
    logging.getLogger(LOGGER).addHandler(Watch(Restored()))
    settings = Settings.load()
    app = application(settings, options.guarantee)
    build(app, Judge(options.processor, settings, f"{settings.prefix}quix-copies"))
    app.run()


if __name__ == "__main__":
    main()
