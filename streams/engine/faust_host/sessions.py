"""Incremental fetches (KIP-227): a request names only the partitions whose place has changed.

aiokafka speaks the versions of Fetch that know sessions, but opens none: each of its requests
names every input partition and is told of every one.  Of the 76 of a worker that was a sixth of
its time at a steady rate.  `FetchSessions` stands between its fetcher and its client.
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

from streams.engine.faust_host import records
from streams.engine.records import TopicPartition

_FULL = 0
_LAST_EPOCH = (1 << 31) - 1
_SESSION_UNKNOWN = 70
_SESSIONS_FROM = 7
"""The first version of Fetch that knows them."""

Place = tuple[int, int]
"""Offset, and how many bytes at most."""


class SessionConsumer(aiokafka.AIOKafkaConsumer):
    """Fetches in sessions, reads what comes whatever its headers are named, and waits for a broker
    that does not know itself yet.
    """

    async def start(self) -> None:
        records.install()
        self._client.coordinator_lookup = partial(coordinator_of, self._client)
        await super().start()
        self._fetcher._client = FetchSessions(self._client, self._assignment)

    def _assignment(self) -> Any:
        subscription = self._subscription.subscription
        return subscription and subscription.assignment


async def coordinator_of(client: Any, kind: Any, key: str) -> Any:
    """The node that coordinates a group, by aiokafka's own look-up.

    A broker that has just come back names no node at all, itself included, for a moment; to
    aiokafka that is a fault of its own, with which a worker that starts just then would end.
    Raises GroupCoordinatorNotAvailableError then, after which aiokafka asks again.
    """
    if client.get_random_node() is None:
        raise GroupCoordinatorNotAvailableError("no broker is known yet")
    return await type(client).coordinator_lookup(client, kind, key)


class FetchSessions:
    """A client as aiokafka's fetcher sees it, with a session at each node.

    assignment: the one of now, as an object.  Another one begins with sessions of its own, since
    it knows nothing of where the partitions end, which brokers tell once a session.
    """

    def __init__(self, client: Any, assignment: Callable[[], Any]) -> None:
        self._client = client
        self._assignment = assignment
        self._assigned: Any = None
        self._sessions: dict[int, _Session] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def send(self, node_id: int, request: Any, **more: Any) -> Any:
        if not isinstance(request, FetchRequest):
            return await self._client.send(node_id, request, **more)
        if (assigned := self._assignment()) is not self._assigned:
            self._assigned = assigned
            for session in self._sessions.values():
                session.start_anew()
        session = self._sessions.setdefault(node_id, _Session())
        asked = session.next(request)
        try:
            response = await self._client.send(node_id, asked, **more)
        except BaseException:  # also when cancelled: what the broker has seen is unknown
            session.start_anew()
            raise
        if response.API_VERSION >= _SESSIONS_FROM:
            session.answered(asked, response)
        return response


class _Session:
    """What one broker knows of where we stand."""

    def __init__(self) -> None:
        self._id = 0
        self._epoch = _FULL
        self._named: dict[TopicPartition, Place] = {}

    def next(self, request: FetchRequest) -> _Incremental:
        wanted = {
            TopicPartition(topic, partition): (offset, size)
            for topic, places in request.topics
            for partition, offset, size in places
        }
        return _Incremental(request, self._id, self._epoch, wanted, self._named)

    def answered(self, asked: _Incremental, response: Any) -> None:
        """A session that the broker does not know, or has not opened, is asked for anew."""
        if response.error_code:
            if response.error_code == _SESSION_UNKNOWN:
                self._id = 0
            self.start_anew()
        elif response.session_id:
            self._id = response.session_id
            self._epoch = self._epoch + 1 if self._epoch < _LAST_EPOCH else 1
            self._named = asked.wanted
        else:
            self.start_anew()

    def start_anew(self) -> None:
        """With the former id: the broker closes that session as it opens another."""
        self._epoch, self._named = _FULL, {}


class _Incremental(FetchRequest):
    """aiokafka's request, less what the broker knows.  `topics` still names all partitions."""

    def __init__(
        self,
        request: FetchRequest,
        session_id: int,
        epoch: int,
        wanted: dict[TopicPartition, Place],
        named: Mapping[TopicPartition, Place],
    ) -> None:
        self.__dict__.update(request.__dict__)
        self.wanted = wanted
        self._session = session_id, epoch
        changed: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for tp, place in wanted.items():
            if named.get(tp) != place:
                changed[tp.topic].append((tp.partition, *place))
        self._news = copy(request)
        self._news._topics = list(changed.items())
        self._forgotten: dict[str, list[int]] = defaultdict(list)
        for tp in named.keys() - wanted.keys():
            self._forgotten[tp.topic].append(tp.partition)

    def build(self, request_struct_class: type[FetchRequestStruct]) -> FetchRequestStruct:
        if request_struct_class.API_VERSION < _SESSIONS_FROM:
            return super().build(request_struct_class)
        struct: Any = self._news.build(request_struct_class)
        struct.session_id, struct.session_epoch = self._session
        struct.forgotten_topics_data = list(self._forgotten.items())
        return struct
