"""Workers of two versions over one log, under traffic that does not stop."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice

from schemas import encode
from streams.engine.headers import CAUSE
from streams.engine.records import Output, Record, header
from tests.e2e.environment import Environment, Worker
from tests.e2e.traffic import SESSIONS
from tests.e2e.traffic import Traffic as Packets
from tests.processes import PATIENCE_S, Process, wait_for
from tests.upgrade.added.declared import KEPT, RECORD, SENT, TOPICS
from tests.upgrade.next_version import Version
from topology.apc import APC_EVENTS, APC_PACKETS, APC_PACKETS_DLQ
from topology.declarations import Topic
from topology.saop import RTES_RAW_DLQ

IDS = 40
_EVERY_S = 0.1
_AT_ONCE = 12
_CODE = "kafka_dlt-exception-fqcn"


class Rollout(Environment):
    """An environment whose workers and commands may be of another version than this one."""

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
        there = self.log.topics()
        if added := [name for topic in TOPICS if (name := self.name(topic)) in there]:
            self.log.delete(added)
        super().__exit__(*_)

    def start_version(self, version: Version, name: str) -> Worker:
        """A worker of that version on the state directory of that name."""
        log = self.directory / f"{name}-{len(self._processes)}.log"
        folder, environ = self.directory / name, self._environ()
        worker = Worker(name, folder, log, environ, "worker", before=version.before)
        self._processes.append(worker)
        return worker

    def share(self, *workers: Worker) -> None:
        """Until each of two has two of the four tasks."""
        self.until(lambda: all(len(one.ready() or ()) == 2 for one in workers), "two tasks each")

    def letters(self) -> Counter[str]:
        """Dead letters of packets and events by code."""
        dead = [*self.records(APC_PACKETS_DLQ), *self.records(RTES_RAW_DLQ)]
        return Counter(_text(letter, _CODE) for letter in dead)

    def answers(self) -> Counter[str]:
        """How many answers, verdicts and dead letters, there are by the place of the packet.

        By headers: this version cannot read what the next one writes.
        """
        answer_counts: Counter[str] = Counter()
        for record in (*self.records(APC_EVENTS), *self.records(APC_PACKETS_DLQ)):
            cause, ident = (_text(record, name) for name in (CAUSE, "ce_id"))
            answer_counts[cause] += ident in ("", f"{cause}/0")
        return +answer_counts

    def count_facts(self) -> Counter[str]:
        """How many facts there are by the place of the note, once their topic is there."""
        if self.name(KEPT) not in self.log.topics():
            return Counter()
        return Counter(_text(fact, CAUSE) for fact in self.records(KEPT))

    def command(self, version: Version, *arguments: str) -> str:
        """What a `headrace` command of that version prints.  Fails when it does."""
        log = self.directory / f"command-{len(self._processes)}.log"
        ran = Process(
            arguments[0], log, self._environ(), "streams.cli", *arguments, before=version.before
        )
        self._processes.append(ran)
        assert ran.exit_code(3 * PATIENCE_S) == 0, ran.text()[-3000:]
        return ran.text()


class Traffic:
    """Packets that keep coming, and notes once their topic is there.

    All can be read, and what comes of them too: any dead letter is a fault of a worker.
    """

    def __init__(self, rollout: Rollout, dice: random.Random) -> None:
        self._rollout, self._dice = rollout, dice
        self._packets = _packets(rollout, dice)
        self._enough = threading.Event()
        self.notes_too = threading.Event()
        self.packets: list[str] = []
        self.notes: list[str] = []

    @contextmanager
    def flowing(self) -> Iterator[None]:
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(self._send)
            try:
                yield
            finally:
                self._enough.set()
                sending.result(PATIENCE_S)

    def _send(self) -> None:
        while not self._enough.wait(_EVERY_S):
            made = list(islice(self._packets, _AT_ONCE))
            if self.notes_too.is_set():
                made += [self._note() for _ in range(_AT_ONCE)]
            places = self._rollout.send(made)
            self.packets += self._on(APC_PACKETS, places)
            self.notes += self._on(SENT, places)

    def _on(self, topic: Topic, places: Sequence[str]) -> list[str]:
        return [place for place in places if place.startswith(f"{self._rollout.name(topic)}/")]

    def _note(self) -> Output:
        ident = f"n{self._dice.randrange(IDS)}"
        value = encode(RECORD, {"data": {"id": ident}})
        return Output(self._rollout.name(SENT), ident.encode(), value)

    def answered_on(self) -> None:
        """Until what was sent after now is answered."""
        count = len(self.packets)
        wait_for(lambda: len(self.packets) > count, "more is sent")
        latest = self.packets[-1]
        self._rollout.until(lambda: latest in self._rollout.answers(), "it is answered")


def _packets(rollout: Rollout, dice: random.Random) -> Iterator[Output]:
    return (rollout.packet(sent.packet) for sent in Packets(dice, SESSIONS) if sent.packet)


def _text(record: Record, name: str) -> str:
    return (header(record, name) or b"").decode()
