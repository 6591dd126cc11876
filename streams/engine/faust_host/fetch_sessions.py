"""Incremental fetches (KIP-227): a request names only the partitions whose position has changed.

aiokafka speaks the versions of Fetch that have sessions, but opens none: each of its requests
names every input partition, and each response too.  With the 76 of a worker that was a sixth of
its time at a steady rate.  `FetchSessions` sits between its fetcher and its client.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import Any

import aiokafka
from aiokafka.errors import GroupCoordinatorNotAvailableError
from aiokafka.protocol.fetch import FetchRequest, FetchRequestStruct

from streams.engine.faust_host.metadata import MissingTopics, PacedUpdates
from streams.engine.fetched import records
from streams.engine.records import TopicPartition

_FULL = 0
_LAST_EPOCH = (1 << 31) - 1
_SESSION_UNKNOWN = 70
_SESSIONS_FROM = 7
"""The first version of Fetch with sessions."""

FetchPosition = tuple[int, int]
"""Offset and maximum bytes."""


class SessionConsumer(aiokafka.AIOKafkaConsumer):
    """A consumer with fetch sessions.

    It also reads records with any header names, waits for a broker that does not know itself
    yet, and notes topics that are gone.
    """

    _missing: MissingTopics | None = None
    _sessions: FetchSessions | None = None

    async def start(self) -> None:
        records.install()
        self._client.coordinator_lookup = partial(coordinator_of, self._client)
        self._missing = MissingTopics(self.subscription)
        self._client.cluster.add_listener(self._missing.note)
        await super().start()
        self._sessions = self._fetcher._client = FetchSessions(self._client, self._assignment)

    async def stop(self) -> None:
        await super().stop()
        if self._sessions is not None:
            self._sessions.close()

    def gone_topics(self) -> list[str]:
        """Return the topics of the subscription that have been deleted."""
        return [] if self._missing is None else self._missing.gone()

    def _assignment(self) -> Any:
        subscription = self._subscription.subscription
        return subscription and subscription.assignment


async def coordinator_of(client: Any, kind: Any, key: str) -> Any:
    """Return the node that coordinates a group, by aiokafka's own look-up.

    A broker that has just come back names no node for a moment, not even itself; aiokafka treats
    that as an internal error, which would end a worker that starts just then.
    Raises GroupCoordinatorNotAvailableError instead, after which aiokafka retries.
    """
    if client.get_random_node() is None:
        raise GroupCoordinatorNotAvailableError("no broker is known yet")
    return await type(client).coordinator_lookup(client, kind, key)


class FetchSessions:
    """A client for aiokafka's fetcher, with a fetch session at each node.

    assignment: returns the current assignment object.  A new one starts new sessions, since
    it does not know the ends of its partitions, which brokers send once per session.
    """

    def __init__(self, client: Any, assignment: Callable[[], Any]) -> None:
        self._client = client
        self._assignment = assignment
        self._assigned: Any = None
        self._sessions: dict[int, _Session] = {}
        self._updates = PacedUpdates(lambda: client.force_metadata_update())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def force_metadata_update(self) -> Any:
        """Return a future of the next update, which comes the later the more there were lately."""
        return self._updates.request()

    def close(self) -> None:
        self._updates.close()

    async def send(self, node_id: int, request: Any, **options: Any) -> Any:
        if not isinstance(request, FetchRequest):
            return await self._client.send(node_id, request, **options)
        if (assigned := self._assignment()) is not self._assigned:
            self._assigned = assigned
            for session in self._sessions.values():
                session.reset()
        session = self._sessions.setdefault(node_id, _Session())
        incremental = session.next(request)
        try:
            response = await self._client.send(node_id, incremental, **options)
        except BaseException:  # also when cancelled: the broker may have processed it
            session.reset()
            raise
        if response.API_VERSION >= _SESSIONS_FROM:
            session.handle_response(incremental, response)
        return response


class _Session:
    """The fetch session at one broker: its id, epoch, and the positions that the broker knows."""

    def __init__(self) -> None:
        self._id = 0
        self._epoch = _FULL
        self._sent_positions: dict[TopicPartition, FetchPosition] = {}

    def next(self, request: FetchRequest) -> _Incremental:
        positions = {
            TopicPartition(topic, partition): (offset, size)
            for topic, partitions in request.topics
            for partition, offset, size in partitions
        }
        return _Incremental(request, self._id, self._epoch, positions, self._sent_positions)

    def handle_response(self, request: _Incremental, response: Any) -> None:
        """Continue the session, or start over if the broker does not know it or has opened none."""
        if response.error_code:
            if response.error_code == _SESSION_UNKNOWN:
                self._id = 0
            self.reset()
        elif response.session_id:
            self._id = response.session_id
            self._epoch = self._epoch + 1 if self._epoch < _LAST_EPOCH else 1
            self._sent_positions = request.positions
        else:
            self.reset()

    def reset(self) -> None:
        """Start over with the former id: the broker closes that session as it opens another."""
        self._epoch, self._sent_positions = _FULL, {}


class _Incremental(FetchRequest):
    """aiokafka's request without what the broker knows.  `topics` still names all partitions."""

    def __init__(
        self,
        request: FetchRequest,
        session_id: int,
        epoch: int,
        positions: dict[TopicPartition, FetchPosition],
        sent_positions: Mapping[TopicPartition, FetchPosition],
    ) -> None:
        self.__dict__.update(request.__dict__)
        self.positions = positions
        self._session = session_id, epoch
        changes: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for tp, position in positions.items():
            if sent_positions.get(tp) != position:
                changes[tp.topic].append((tp.partition, *position))
        self._delta = copy(request)
        self._delta._topics = list(changes.items())
        self._forgotten: dict[str, list[int]] = defaultdict(list)
        for tp in sent_positions.keys() - positions.keys():
            self._forgotten[tp.topic].append(tp.partition)

    def build(self, request_struct_class: type[FetchRequestStruct]) -> FetchRequestStruct:
        if request_struct_class.API_VERSION < _SESSIONS_FROM:
            return super().build(request_struct_class)
        struct: Any = self._delta.build(request_struct_class)
        struct.session_id, struct.session_epoch = self._session
        struct.forgotten_topics_data = list(self._forgotten.items())
        return struct
