"""The partitions whose subscriptions this gateway posts events for.

Gateways share them as members of one consumer group: when one is killed, Kafka gives its partitions
to the others, after ten seconds.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from streams.engine.kafka import KafkaLog
from streams.engine.kafka_group import KafkaGroup
from streams.engine.log import Log
from streams.errors import HeadraceError
from topology.acls import PUSH_GROUP
from topology.core import PUSH_SUBSCRIPTIONS
from topology.topics import full_name

_POLL_S = 0.5
_RETRY_S = 1.0

_log = logging.getLogger(__name__)


class Ownership(Protocol):
    """The partitions of `push.subscriptions` that are this gateway's now."""

    def partitions(self) -> frozenset[int]: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


class WholeOwnership:
    """All partitions, for a log in memory, which one gateway has to itself."""

    def __init__(self, log: Log, prefix: str) -> None:
        self._log, self._topic = log, full_name(PUSH_SUBSCRIPTIONS, prefix)

    def partitions(self) -> frozenset[int]:
        info = self._log.topics().get(self._topic)
        return frozenset(range(0 if info is None else info.partitions))

    def start(self) -> None:
        """Own everything already."""

    def stop(self) -> None:
        """Leave nothing."""


class GroupOwnership:
    """The partitions that the group has given to this gateway.

    on_change: called in the group's thread.
    """

    def __init__(self, log: KafkaLog, prefix: str, on_change: Callable[[], None]) -> None:
        self._log = log
        self._group, self._topic = f"{prefix}{PUSH_GROUP}", full_name(PUSH_SUBSCRIPTIONS, prefix)
        self._on_change = on_change
        self._owned: frozenset[int] = frozenset()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="push group", daemon=True)

    def partitions(self) -> frozenset[int]:
        return self._owned

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Leave the group, so that others take over at once."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                group = self._log.group(self._group, self._topic)
                try:
                    self._follow(group)
                finally:
                    self._set(frozenset())
                    group.close()
            except HeadraceError as exc:
                _log.warning("the group %s: %s", self._group, exc.message)
                self._stopped.wait(_RETRY_S)

    def _follow(self, group: KafkaGroup) -> None:
        """Be a member until stopped; the store reads the records.  Raises HeadraceError."""
        while not self._stopped.is_set():
            polled = group.poll(_POLL_S)
            if not polled.taken and not polled.lost:
                continue
            lost = {tp.partition for tp in polled.lost}
            self._set((self._owned - lost) | {tp.partition for tp in polled.taken})
            group.pause()

    def _set(self, owned: frozenset[int]) -> None:
        if owned != self._owned:
            self._owned = owned
            self._on_change()


def make_ownership(log: Log, prefix: str, on_change: Callable[[], None]) -> Ownership:
    """Return the ownership of one gateway.  on_change: called in any thread."""
    if isinstance(log, KafkaLog):
        return GroupOwnership(log, prefix, on_change)
    return WholeOwnership(log, prefix)
