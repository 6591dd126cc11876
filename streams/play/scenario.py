"""Running a scenario line by line, every processor at rest before the next line is read."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from schemas import ShapeError
from schemas.asap import derived_id
from streams.api.problems import Response
from streams.api.protocol import PlayContext
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.processor import Processor
from streams.engine.records import LogRecord, Output, Record
from streams.errors import InvalidInput, OutputTooLarge, UsageError
from streams.ingress.edges import EDGES, ingress_topic_of
from streams.log.record_json import record_json
from streams.ops.topics import create_topics
from streams.play import fill
from streams.play.lines import (
    Json,
    LineError,
    count_ms,
    header_list,
    in_range,
    key_bytes,
    parse_line,
    raw_bytes,
    time_ms,
)
from streams.processing.encode import as_it_is, to_output
from streams.protocols.commands import all_processors, bind_files
from streams.protocols.queries import QUERIES
from streams.routes.handle import Routes
from streams.settings import Settings
from streams.view_store.view import View
from topology import topics
from topology.core import CHANGELOG
from topology.declarations import Topic
from topology.processors import inputs as all_inputs

START_MS = 1_767_225_600_000
"""2026-01-01T00:00:00.000Z, where the clock of every scenario starts."""


def play(
    lines: Iterable[str],
    settings: Settings,
    processors: Callable[[], Sequence[Processor]] = all_processors,
) -> Iterator[Json]:
    """Every output line of a scenario.  Raises LineError, which names the line, SettingsError."""
    bind_files(settings)
    with tempfile.TemporaryDirectory(prefix="headrace-play-") as folder, ExitStack() as stack:
        scenario = Scenario(settings, Path(folder), processors)
        stack.callback(scenario.close)
        count = 0
        for number, text in enumerate(lines, 1):
            if not text.strip():
                continue
            for output in scenario.line(number, text):
                count += 1
                yield {"n": count, "input": number, **output}


class Scenario:
    """One run: a log, all tasks, a view and a clock (ms)."""

    def __init__(
        self, settings: Settings, folder: Path, processors: Callable[[], Sequence[Processor]]
    ) -> None:
        self.now = START_MS
        self._settings = settings
        self._folder = folder
        self._begun = False
        self._ids = 0
        self._views = 0
        self._written: list[LogRecord] = []
        self._by_name = {settings.prefix + topic.name: topic for topic in topics.ALL}
        self.log = MemoryLog(lambda: self.now)
        create_topics(self.log, settings)
        self._host = LocalHost(self.log, processors, settings, folder / "state")
        self.log.on_append = self._written.append
        self._view = self._new_view()

    def _new_view(self) -> View:
        self._views += 1
        path = self._folder / f"view-{self._views}"
        return View(self.log, path, self._settings.prefix, lambda: self.now)

    def line(self, number: int, text: str) -> list[Json]:
        """What one line brings about, after which every processor is at rest."""
        try:
            return self._do(parse_line(text))
        except LineError as exc:
            raise LineError(f"line {number}: {exc.message}", advice=exc.advice) from exc
        except (UsageError, ShapeError) as exc:
            raise LineError(f"line {number}: {exc}") from exc

    def _do(self, line: Json) -> list[Json]:
        if "topic" in line:
            return self._record(line)
        if "query" in line:
            return self._query(line)
        if "advance_ms" in line:
            self._move(in_range(self.now + count_ms(line["advance_ms"])), inclusive=True)
            return self._drain()
        if line["restart"] is not True:
            raise LineError('"restart" is true, or the line is left out')
        self._restart()
        return []

    def _record(self, line: Json) -> list[Json]:
        given = time_ms(line["timestamp"]) if "timestamp" in line else None
        stamp = self._next() if given is None else given
        try:
            output = self._output(line, max(stamp, self.now))
        except (InvalidInput, OutputTooLarge) as exc:
            self._move(stamp if given is not None else self.now, inclusive=False)
            return [*self._drain(), {"topic": None, "rejected": _refusal(exc)}]
        self._move(stamp, inclusive=False)
        self._place(output, stamp)
        self._host.run()
        return self._drain()

    def _output(self, line: Json, now: int) -> Output:
        topic = self._input(line["topic"])
        if line.get("as", "service") != "service":
            raise LineError('"as" is "service", or the line is left out')
        if ("value" in line) == ("raw_base64" in line):
            raise LineError('one of "value" and "raw_base64" is to be there')
        headers = header_list(line.get("headers"))
        if "raw_base64" in line:
            output = Output(self._settings.prefix + topic.name, None, raw_bytes(line["raw_base64"]))
        elif line["value"] is None:
            output = Output(self._settings.prefix + topic.name, None, None)
        elif line.get("as") == "service":
            output = self._as_the_service(topic, line["value"], now)
        else:
            value = fill.value(topic.name, line["value"], lambda: self._new_id(now))
            output = to_output(ingress_topic_of(topic.name), value, now, self._settings)
        if "key" in line:
            output = output._replace(key=key_bytes(line["key"]))
        return output._replace(headers=[*output.headers, *headers])

    def _as_the_service(self, topic: Topic, value: object, now: int) -> Output:
        """For what Avro cannot carry, the edge has the words, if it refuses that too."""
        try:
            return as_it_is(topic, value, self._settings)
        except InvalidInput:
            if topic.name in EDGES:
                to_output(ingress_topic_of(topic.name), value, now, self._settings)
            raise

    def _input(self, name: object) -> Topic:
        topic = topics.BY_NAME.get(name) if isinstance(name, str) else None
        if topic is None or topic not in all_inputs():
            inputs = ", ".join(t.name for t in all_inputs())
            raise LineError(f"{name} is not a topic that processors read; those are {inputs}")
        return topic

    def _place(self, output: Output, stamp: int) -> Record:
        self.log.on_append = None
        record = self.log.place(output, stamp)
        self.log.on_append = self._written.append
        self._begun = True
        return record

    def _next(self) -> int:
        """The time of a record that names none."""
        return self.now + 1 if self._begun else self.now

    def _move(self, target: int, *, inclusive: bool) -> None:
        """Turn the clock on, firing timers at their own due times.

        A record that comes at the very time of a timer is judged before the timer fires, as in a
        worker; so the way to a record ends just before its time.
        """
        last = target if inclusive else target - 1
        while (due := self._host.next_due()) is not None and due <= last:
            self.now = max(self.now, due)
            self._host.run()
        self.now = max(self.now, target)

    def _query(self, line: Json) -> list[Json]:
        method, _, target = str(line["query"]).partition(" ")
        if not target.startswith("/"):
            raise LineError('"query" is a method and a path, as "GET /v1/apc/packets"')
        path, _, query = target.partition("?")
        routes = Routes(
            self._view,
            self.log,
            self._settings,
            self._next,
            wait_s=0,
            append=self._append,
            rest=self._host.run,
        )
        self._view.catch_up(0)
        headers = {str(k): str(v) for k, v in (line.get("headers") or {}).items()}
        body = fill.body(method, path, line.get("body"), self._next(), self._new_id)
        answer = self._served(method, path, query, headers, body)
        answer = answer or routes.handle(method, path, query, headers, body)
        self._host.run()
        shown = {"query": line["query"], "status": answer.status, "body": answer.body}
        return [shown, *self._drain()]

    def _new_id(self, at: int | None = None) -> str:
        """Of an envelope that comes without one; at: ms, now if it is not given."""
        self._ids += 1
        return derived_id(f"play/{self._ids}", 0, self._next() if at is None else at)

    def _served(
        self, method: str, path: str, query: str, headers: Mapping[str, str], body: object
    ) -> Response | None:
        """What a server of a protocol's own answers; None where there is none for the path."""
        context = PlayContext(
            self._settings, self._view, self._next, self._judged, self._new_id, self._partitions
        )
        servers = (side.play for side in QUERIES if side.play is not None)
        answers = (play(context, method, path, query, headers, body) for play in servers)
        return next((answer for answer in answers if answer is not None), None)

    def _partitions(self) -> dict[str, int]:
        return {topic.name: topic.partitions for topic in self.log.topics().values()}

    def _judged(self, outputs: Sequence[Output]) -> list[Record]:
        """On the log, and every processor at rest."""
        placed = self._append(outputs)
        self._host.run()
        return placed

    def _append(self, outputs: Sequence[Output]) -> list[Record]:
        placed = []
        for output in outputs:
            stamp = self._next()
            self._move(stamp, inclusive=False)
            placed.append(self._place(output, stamp))
        return placed

    def _drain(self) -> list[Json]:
        """What the service has written since; the shared changelog is its own affair."""
        shown = [
            record_json(topic, record)
            for record in self._written
            if (topic := self._by_name[record.topic]) is not CHANGELOG
        ]
        self._written.clear()
        return shown

    def _restart(self) -> None:
        self._view.close()
        self._host.restart()
        self._view = self._new_view()

    def close(self) -> None:
        self._view.close()
        self._host.close()


def _refusal(exc: InvalidInput | OutputTooLarge) -> Json:
    """What the HTTP edge would answer first."""
    if isinstance(exc, InvalidInput):
        return exc.problems[0]._asdict()
    return {"rule": "too_large", "path": "", "message": exc.message}
