"""A whole system in memory: log, tasks, a view and the routes over it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams.api.problems import Response
from streams.engine.local import LocalHost
from streams.engine.mac_checks import MacChecks
from streams.engine.memory import MemoryLog
from streams.engine.records import LogRecord, Output, TopicPartition, position
from streams.ingress.edges import ingress_topic_of
from streams.ops.topics import create_topics
from streams.processing.encode import to_output
from streams.protocols.commands import all_processors
from streams.routes.handle import Routes
from streams.settings import Settings
from streams.view_store.view import View
from topology import topics

START_MS = 1_767_225_600_000


class Bench:
    """send() leaves the view behind; look() brings it to the end."""

    def __init__(
        self, folder: Path, partitions: int = 2, prefix: str = "", **settings: Any
    ) -> None:
        self.now = START_MS
        self.folder = folder
        self.settings = Settings(partitions=partitions, prefix=prefix, **settings)
        self.log = MemoryLog(lambda: self.now)
        self.create()
        self.host = LocalHost(self.log, all_processors, self.settings, folder / "state")
        self.view = self.open_view()

    def create(self) -> None:
        create_topics(self.log, self.settings)

    def open_view(self) -> View:
        return View(
            self.log,
            self.folder / "view",
            self.settings.prefix,
            lambda: self.now,
            self.settings.view_set_aside,
            macs=MacChecks.of(self.settings, topics.ALL),
        )

    def reopen_view(self) -> None:
        self.view.close()
        self.view = self.open_view()

    def tick(self) -> int:
        """One ms later."""
        self.now += 1
        return self.now

    def append(self, topic: str, *values: Any) -> list[str]:
        """Produce, one ms apart, and leave it there; returns the positions."""
        positions = []
        for value in values:
            self.now += 1
            (record,) = self.log.append(
                [to_output(ingress_topic_of(topic), value, self.now, self.settings)]
            )
            positions.append(position(record))
        return positions

    def send(self, topic: str, *values: Any) -> list[str]:
        """Produce, and let every processor come to rest."""
        positions = self.append(topic, *values)
        self.host.run()
        return positions

    def send_bytes(self, topic: str, value: bytes, key: bytes = b"s1") -> str:
        (record,) = self.log.append([Output(self.settings.prefix + topic, key, value)])
        self.host.run()
        return position(record)

    @property
    def routes(self) -> Routes:
        return Routes(self.view, self.log, self.settings, lambda: self.now, wait_s=0)

    def get(self, path: str, query: str = "") -> Response:
        """Answered from what the view has seen so far."""
        return self.routes.handle("GET", path, query)

    def look(self, path: str, query: str = "") -> Any:
        """The body of an answer from a view that has seen everything."""
        self.view.catch_up(0)
        answer = self.get(path, query)
        assert answer.status == 200, answer.body
        return answer.body

    def records(self, topic: str) -> list[LogRecord]:
        """Of all partitions."""
        name = self.settings.prefix + topic
        count = self.log.topics()[name].partitions
        slots = [s for n in range(count) for s in self.log.slots(TopicPartition(name, n))]
        return [slot for slot in slots if slot is not None]

    def close(self) -> None:
        self.view.close()
        self.host.close()
