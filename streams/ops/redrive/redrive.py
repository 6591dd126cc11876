"""Sending dead letters back, each at most once.

A record and the fact about it (`audit.redrives`) are one transaction, so after a kill the facts
show what is done.  Only one redrive runs at a time: all use one transactional id, and a new one
fences the previous one, whose next transaction fails.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import NamedTuple, Self

from schemas import encode, uuid5_url
from streams.engine.log import Log
from streams.engine.mac_signer import MacSigner
from streams.engine.principals import Principals
from streams.engine.record_mac import REDRIVE_TASK, split_mac_keys
from streams.engine.records import Output
from streams.engine.task import group_of
from streams.errors import CommitFailed, Fenced
from streams.ops.redrive.dead_letters import REDRIVEN_FROM, DeadLetter, RedriveStatus
from streams.ops.redrive.redriven import SentBack, sent_back
from streams.ops.topics import plan, refuse_mismatch
from streams.settings import Settings
from topology.core import AUDIT_REDRIVES
from topology.declarations import Topic
from topology.keys import partition_of
from topology.topics import full_name

Pause = Callable[[float], None]
"""Sleeps for a number of seconds."""
Elapsed = Callable[[], float]
"""Returns monotonic seconds."""


class RedriveRequest(NamedTuple):
    """A redrive request.

    operator: who requests it.  reason: free text.  rate: maximum number of records per second;
    None: unlimited.
    """

    operator: str
    reason: str | None = None
    rate: float | None = None


class Redrive:
    """A redrive.  While it is open, no other redrive of this environment can send.

    done: the dead letters that were ever sent back.  A record whose sender was
    verified is signed again if this process has the key. Opening raises BrokerUnavailable, Fenced,
    TopicsMismatch.
    """

    def __init__(
        self,
        log: Log,
        settings: Settings,
        clock: Callable[[], int],
        pause: Pause = time.sleep,
        elapsed: Elapsed = time.monotonic,
    ) -> None:
        self._log, self._prefix, self._clock = log, settings.prefix, clock
        self._pause, self._elapsed = pause, elapsed
        self._settings, self._partitions = settings, settings.partitions
        self._principals = Principals.of(settings.principal_key)
        self._mac_keys = split_mac_keys(settings.mac_key)
        self._signer: MacSigner | None = None
        self._producer = log.producer(f"{group_of(settings)}-redrive")
        self._facts = full_name(AUDIT_REDRIVES, self._prefix)
        self.done = SentBack()

    def __enter__(self) -> Self:
        refuse_mismatch(plan(self._log, self._settings), self._settings)
        self._producer.open()  # first: it fences the previous redrive, so the log is final
        self.done = sent_back(self._log, self._prefix)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._producer.close()

    def send(
        self, letters: Iterable[DeadLetter], order: RedriveRequest
    ) -> Iterator[tuple[DeadLetter, str | None]]:
        """Send dead letters; yield each with its new position, None if it is not sent.

        The standing of a dead letter tells why it is not sent.  Raises Fenced if another redrive
        has begun, CommitFailed, BrokerUnavailable; a new run continues after what is done.
        """
        due = self._elapsed()
        for dead_letter in letters:
            if dead_letter.standing is not RedriveStatus.READY or dead_letter in self.done:
                yield dead_letter, None
                continue
            if order.rate is not None:
                self._pause(max(0.0, due - self._elapsed()))
                due = self._elapsed() + 1 / order.rate
            new_position = self._commit(dead_letter, order)
            self.done.add(dead_letter)
            yield dead_letter, new_position

    def _commit(self, dead_letter: DeadLetter, order: RedriveRequest) -> str:
        name = full_name(dead_letter.topic, self._prefix)
        sent = Output(
            name,
            dead_letter.key,
            dead_letter.value,
            [*dead_letter.headers, (REDRIVEN_FROM, dead_letter.place.encode())],
            self._partition(dead_letter),
        )
        fact = encode(AUDIT_REDRIVES.record or "", self._fact(dead_letter, name, order))
        if self._principals is not None:
            sent = self._principals.resigned(dead_letter.record(name), sent, self._clock())
        if self._mac_keys and dead_letter.topic.internal:
            (sent,) = self._sign_mac(dead_letter.topic, sent)
        try:
            ends = self._producer.commit(
                [sent, Output(self._facts, dead_letter.place.encode(), fact)]
            )
        except Fenced as exc:
            raise Fenced(
                "another redrive has begun and takes over",
                advice="Let it end; what it leaves is sent by the next `headrace dlq redrive`.",
            ) from exc
        except CommitFailed as exc:
            advice = "Run the same command again: what was sent already is not sent twice."
            raise CommitFailed(exc.message, advice=advice) from exc
        (tp,) = (tp for tp in ends if tp.topic == name)
        return f"{name}/{tp.partition}/{ends[tp] - 1}"

    def _sign_mac(self, topic: Topic, sent: Output) -> list[Output]:
        """Sign a record between processors, with a serial above those of former redrives."""
        start = self._clock() * 1000 + 1
        if self._signer is not None:
            start = max(start, self._signer.next_serial)
        key = self._mac_keys[0]
        self._signer = MacSigner(key, REDRIVE_TASK, start, [topic], self._prefix)
        return self._signer.sign([sent])

    def _partition(self, dead_letter: DeadLetter) -> int:
        """Return the partition of the key; a record without a key keeps its partition."""
        if dead_letter.key is None:
            return dead_letter.partition
        return partition_of(dead_letter.key, self._partitions)

    def _fact(self, dead_letter: DeadLetter, name: str, order: RedriveRequest) -> dict[str, object]:
        return {
            "redrive_id": uuid5_url(f"headrace:{dead_letter.place}/redrive"),
            "dead_letter": dead_letter.place,
            "source": dead_letter.source,
            "topic": name,
            "record_key": _text(dead_letter.key),
            "value_sha256": hashlib.sha256(dead_letter.value or b"").hexdigest(),
            "code": dead_letter.code,
            "operator": order.operator,
            "reason": order.reason,
            "at": self._clock(),
        }


def _text(key: bytes | None) -> str | None:
    try:
        return None if key is None else key.decode()
    except UnicodeDecodeError:
        return None
