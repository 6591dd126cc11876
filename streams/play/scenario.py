"""Runs of scenarios, line by line; all processors are idle before the next line is read."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from schemas import ShapeError
from schemas.ulid import derived_id
from streams.api.problems import Response
from streams.api.query_side import PlayContext, PlayServer
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.processor import Processor
from streams.engine.records import LogRecord, Output, Record
from streams.engine.scratch import scratch_parent
from streams.errors import InvalidInput, OutputTooLarge, UsageError
from streams.ingress.edges import EDGES, ingress_topic_of
from streams.log.record_json import record_json
from streams.ops.topics import create_topics
from streams.play import fill
from streams.play.lines import (
    Json,
    LineError,
    check_time,
    parse_duration_ms,
    parse_headers,
    parse_key,
    parse_line,
    parse_raw,
    parse_time_ms,
)
from streams.processing.encode import encode_value, to_output
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
    servers: Sequence[PlayServer] = (),
) -> Iterator[Json]:
    """Yield the output lines of a scenario.  Raises SettingsError, LineError.

    servers: they respond beside those of the protocols.
    """
    with open_scenario(settings, processors, servers) as scenario:
        count = 0
        for number, text in enumerate(lines, 1):
            if not text.strip():
                continue
            for output in scenario.line(number, text):
                count += 1
                yield {"n": count, "input": number, **output}


@contextmanager
def open_scenario(
    settings: Settings,
    processors: Callable[[], Sequence[Processor]] = all_processors,
    servers: Sequence[PlayServer] = (),
) -> Iterator[Scenario]:
    """Begin a run, without MACs.  Raises SettingsError."""
    settings = replace(settings, mac_key=None)
    bind_files(settings)
    with tempfile.TemporaryDirectory(prefix="headrace-play-", dir=scratch_parent()) as folder:
        scenario = Scenario(settings, Path(folder), processors, servers)
        try:
            yield scenario
        finally:
            scenario.close()


class Scenario:
    """One run of a scenario: a log, all tasks, a view and a clock (ms)."""

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        processors: Callable[[], Sequence[Processor]],
        servers: Sequence[PlayServer] = (),
    ) -> None:
        self.now = START_MS
        self._settings = settings
        self._folder = folder
        self._servers = [*servers, *(side.play for side in QUERIES if side.play is not None)]
        self._number = 0
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
        """Carry out a line, run all processors until idle, and return the output."""
        self._number = number
        try:
            return self._dispatch(parse_line(text))
        except LineError as exc:
            raise LineError(f"line {number}: {exc.message}", advice=exc.advice) from exc
        except (UsageError, ShapeError) as exc:
            raise LineError(f"line {number}: {exc}") from exc

    def _dispatch(self, line: Json) -> list[Json]:
        if "topic" in line:
            return self._run_record(line)
        if "query" in line:
            return self._run_query(line)
        if "advance_ms" in line:
            self._advance_to(
                check_time(self.now + parse_duration_ms(line["advance_ms"])), inclusive=True
            )
            return self._drain()
        if line["restart"] is not True:
            raise LineError('"restart" is true, or the line is left out')
        self._restart()
        return []

    def _run_record(self, line: Json) -> list[Json]:
        timestamp = parse_time_ms(line["timestamp"]) if "timestamp" in line else None
        stamp = self._next_time() if timestamp is None else timestamp
        try:
            output = self._encode(line, max(stamp, self.now))
        except (InvalidInput, OutputTooLarge) as exc:
            self._advance_to(stamp if timestamp is not None else self.now, inclusive=False)
            return [*self._drain(), {"topic": None, "rejected": _first_problem(exc)}]
        self._advance_to(stamp, inclusive=False)
        self._append_at(output, stamp)
        self._host.run()
        return self._drain()

    def _encode(self, line: Json, now: int) -> Output:
        topic = self._input_topic(line["topic"])
        if line.get("as", "service") != "service":
            raise LineError('"as" is "service", or the line is left out')
        if ("value" in line) == ("raw_base64" in line):
            raise LineError('one of "value" and "raw_base64" is to be there')
        headers = parse_headers(line.get("headers"))
        if "raw_base64" in line:
            output = Output(self._settings.prefix + topic.name, None, parse_raw(line["raw_base64"]))
        elif line["value"] is None:
            output = Output(self._settings.prefix + topic.name, None, None)
        elif line.get("as") == "service":
            output = self._encode_as_service(topic, line["value"], now)
        else:
            edge = ingress_topic_of(topic.name)
            value = fill.fill_value(topic.name, line["value"], lambda: self._new_id(now))
            if edge.kind.address is not None and isinstance(line.get("key"), str):
                value = edge.kind.address(value, line["key"], None)
            output = to_output(edge, value, now, self._settings)
        if "key" in line:
            output = output._replace(key=parse_key(line["key"]))
        return output._replace(headers=[*output.headers, *headers])

    def _encode_as_service(self, topic: Topic, value: object, now: int) -> Output:
        """Encode a value without what an edge does.

        If Avro cannot carry it, and the topic's edge refuses it too, raise the edge's error, which
        says more.
        """
        try:
            return encode_value(topic, value, self._settings)
        except InvalidInput:
            if topic.name in EDGES:
                to_output(ingress_topic_of(topic.name), value, now, self._settings)
            raise

    def _input_topic(self, name: object) -> Topic:
        topic = topics.BY_NAME.get(name) if isinstance(name, str) else None
        if topic is None or topic not in all_inputs():
            inputs = ", ".join(t.name for t in all_inputs())
            raise LineError(f"{name} is not a topic that processors read; those are {inputs}")
        return topic

    def _append_at(self, output: Output, stamp: int) -> Record:
        self.log.on_append = None
        record = self.log.append_at(output, stamp)
        self.log.on_append = self._written.append
        self._begun = True
        return record

    def _next_time(self) -> int:
        """Return the time of a record that has no timestamp."""
        return self.now + 1 if self._begun else self.now

    def _advance_to(self, target: int, *, inclusive: bool) -> None:
        """Advance the clock; timers fire at their due times.

        inclusive: fire the timers that are due at the target too.  A worker handles a record before
        a timer with the same time, so before a record the clock stops short of the record's time.
        """
        last = target if inclusive else target - 1
        while (due := self._host.next_due()) is not None and due <= last:
            self.now = max(self.now, due)
            self._host.run()
        self.now = max(self.now, target)

    def _run_query(self, line: Json) -> list[Json]:
        method, _, target = str(line["query"]).partition(" ")
        if not target.startswith("/"):
            raise LineError('"query" is a method and a path, as "GET /v1/apc/packets"')
        path, _, query = target.partition("?")
        routes = Routes(
            self._view,
            self.log,
            self._settings,
            self._next_time,
            wait_s=0,
            append=self._append,
            run_until_idle=self._host.run,
        )
        self._view.catch_up(0)
        headers = {str(k): str(v) for k, v in (line.get("headers") or {}).items()}
        body = fill.fill_body(method, path, line.get("body"), self._next_time(), self._new_id)
        answer = self._serve(method, path, query, headers, body)
        answer = answer or routes.handle(method, path, query, headers, body)
        self._host.run()
        output = {"query": line["query"], "status": answer.status, "body": answer.body}
        return [output, *self._drain()]

    def _new_id(self, at: int | None = None) -> str:
        """Return an id for an envelope that has none.

        at: ms since the epoch; by default the next time of the scenario.
        """
        self._ids += 1
        return derived_id(f"play/{self._ids}", 0, self._next_time() if at is None else at)

    def _serve(
        self, method: str, path: str, query: str, headers: Mapping[str, str], body: object
    ) -> Response | None:
        """Return the response of a server beside the routes, None if none serves the path."""
        context = PlayContext(
            self._settings,
            self._view,
            self._next_time,
            self._append_and_run,
            self._new_id,
            self._partitions,
            self.log,
            self._number,
        )
        answers = (play(context, method, path, query, headers, body) for play in self._servers)
        return next((answer for answer in answers if answer is not None), None)

    def _partitions(self) -> dict[str, int]:
        return {topic.name: topic.partitions for topic in self.log.topics().values()}

    def _append_and_run(self, outputs: Sequence[Output]) -> list[Record]:
        """Append records and run all processors until they are idle."""
        records = self._append(outputs)
        self._host.run()
        return records

    def _append(self, outputs: Sequence[Output]) -> list[Record]:
        records = []
        for output in outputs:
            stamp = self._next_time()
            self._advance_to(stamp, inclusive=False)
            records.append(self._append_at(output, stamp))
        return records

    def _drain(self) -> list[Json]:
        """Return the records written since the last call, without those of the shared changelog."""
        outputs = [
            record_json(topic, record)
            for record in self._written
            if (topic := self._by_name[record.topic]) is not CHANGELOG
        ]
        self._written.clear()
        return outputs

    def _restart(self) -> None:
        self._view.close()
        self._host.restart()
        self._view = self._new_view()

    def close(self) -> None:
        self._view.close()
        self._host.close()


def _first_problem(exc: InvalidInput | OutputTooLarge) -> Json:
    """Return the first problem of a refused record, as the gateway would send it."""
    if isinstance(exc, InvalidInput):
        return exc.problems[0]._asdict()
    return {"rule": "too_large", "path": "", "message": exc.message}
