"""Fetch sessions against a broker that keeps them as KIP-227 says: it must always understand what
the consumer wants, whatever is lost on the way."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError
from aiokafka.protocol.fetch import FetchRequest, FetchRequest_v4, FetchRequest_v7, FetchRequest_v11
from aiokafka.protocol.metadata import MetadataRequest
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.faust_host.fetch_sessions import FetchSessions

UNKNOWN_SESSION, INVALID_EPOCH = 70, 71
MAX_BYTES = 4096

Places = dict[tuple[str, int], int]


class Broker:
    """room: whether it opens sessions.  understood: the places of the last request, by its own
    books.  named: how many partitions that request named."""

    def __init__(self, version: Any = FetchRequest_v11) -> None:
        self.version = version
        self.room = True
        self.fault: str | None = None
        self.understood: Places = {}
        self.named = 0
        self.session: Places | None = None
        self.id = 100
        self._epoch = 0
        self.closed: list[int] = []
        self.color = "passed through"

    async def send(self, node_id: int, request: Any, **more: Any) -> Any:
        if not isinstance(request, FetchRequest):
            return request
        assert node_id == 1
        wire_request = request.build(self.version)
        wire_request.encode()
        if self.fault == "lost on the way":
            raise KafkaConnectionError
        answer = self._answer(wire_request)
        if self.fault == "answer lost":
            raise asyncio.CancelledError
        return answer

    def skip(self) -> None:
        """As if a request had come that was never sent."""
        self._epoch += 1

    def _answer(self, request: Any) -> Any:
        news = _places(request.topics)
        self.named = len(news)
        if self.version.API_VERSION < 7:
            self.understood = news
            return SimpleNamespace(API_VERSION=self.version.API_VERSION)
        if request.session_epoch == 0:
            if request.session_id == self.id:
                self.closed.append(self.id)
                self.session = None
            self.understood = news
            if not self.room:
                return self._reply(0, 0)
            self.id, self._epoch, self.session = self.id + 1, 1, dict(news)
            return self._reply(0, self.id)
        if self.session is None or request.session_id != self.id:
            return self._reply(UNKNOWN_SESSION, 0)
        if request.session_epoch != self._epoch:
            return self._reply(INVALID_EPOCH, 0)
        self._epoch += 1
        for topic, partitions in request.forgotten_topics_data:
            for partition in partitions:
                del self.session[topic, partition]
        self.session.update(news)
        self.understood = dict(self.session)
        return self._reply(0, self.id)

    def _reply(self, error: int, session_id: int) -> Any:
        return SimpleNamespace(
            API_VERSION=self.version.API_VERSION, error_code=error, session_id=session_id
        )


def _places(topics: Any) -> Places:
    return {
        (topic, place[0]): place[-3] if len(place) == 5 else place[1]
        for topic, places in topics
        for place in places
    }


def request(places: Places) -> FetchRequest:
    by_topic: dict[str, list[tuple[int, int, int]]] = {}
    for (topic, partition), offset in places.items():
        by_topic.setdefault(topic, []).append((partition, offset, MAX_BYTES))
    return FetchRequest(500, 1, 1 << 20, 1, list(by_topic.items()))


def exchange(sessions: FetchSessions, places: Places) -> Any:
    return asyncio.run(sessions.send(1, request(places)))


PLACES = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 2)), st.integers(0, 3), min_size=1
)
FAULTS = st.sampled_from(
    [None, None, None, "lost on the way", "answer lost", "evicted", "no room", "out of step"]
)


@given(
    st.lists(st.tuples(PLACES, FAULTS), max_size=12),
    st.sampled_from([FetchRequest_v4, FetchRequest_v7, FetchRequest_v11]),
)
def test_the_broker_understands_what_is_wanted(
    steps: list[tuple[Places, str | None]], version: Any
) -> None:
    broker = Broker(version)
    sessions = FetchSessions(broker, lambda: None)
    for places, fault in steps:
        broker.fault, broker.room = fault, fault != "no room"
        if fault == "evicted":
            broker.session = None
        if fault == "out of step":
            broker.skip()
        try:
            answer = exchange(sessions, places)
        except (KafkaConnectionError, asyncio.CancelledError):
            continue
        if getattr(answer, "error_code", 0):
            answer = exchange(sessions, places)
            assert not answer.error_code, "what the broker does not know is asked for anew at once"
        assert broker.understood == places


def test_a_place_that_has_not_changed_is_not_named_again() -> None:
    broker = Broker()
    sessions = FetchSessions(broker, lambda: None)
    places = {("a", 0): 5, ("a", 1): 6, ("b", 0): 7}
    named = []
    for change in ({}, {("a", 1): 9}, {}, {("c", 0): 0}):
        places |= change
        exchange(sessions, places)
        named.append(broker.named)
    assert named == [3, 1, 0, 1]


def test_a_session_that_is_out_of_step_is_given_up_by_name() -> None:
    """Else the broker would keep it beside the new one."""
    broker = Broker()
    sessions = FetchSessions(broker, lambda: None)
    exchange(sessions, {("a", 0): 5})
    broker.skip()
    assert exchange(sessions, {("a", 0): 6}).error_code == INVALID_EPOCH
    before = broker.id
    exchange(sessions, {("a", 0): 6})
    assert broker.closed == [before]


def test_another_assignment_begins_with_all_its_places() -> None:
    """It does not know where partitions end, which a session tells only once."""
    assignments = [object()]
    broker = Broker()
    sessions = FetchSessions(broker, lambda: assignments[-1])
    named = []
    for change in (False, False, True, False):
        if change:
            assignments.append(object())
        exchange(sessions, {("a", 0): 5, ("b", 1): 6})
        named.append(broker.named)
    assert named == [2, 0, 2, 0]


def test_the_fetcher_still_sees_all_that_it_asked_for() -> None:
    """It looks up in its request where each partition of a response stood."""
    sent: list[FetchRequest] = []

    class Keeping(Broker):
        async def send(self, node_id: int, request: Any, **more: Any) -> Any:
            sent.append(request)
            return await super().send(node_id, request, **more)

    sessions = FetchSessions(Keeping(), lambda: None)
    for _ in range(2):
        exchange(sessions, {("a", 0): 5, ("b", 1): 6})
    assert [r.topics for r in sent] == [request({("a", 0): 5, ("b", 1): 6}).topics] * 2


def test_other_requests_and_questions_pass_through() -> None:
    broker = Broker()
    sessions = FetchSessions(broker, lambda: None)
    other = MetadataRequest([])
    assert asyncio.run(sessions.send(1, other)) is other
    assert sessions.color == "passed through"
    with pytest.raises(AttributeError):
        _ = sessions.nothing_of_the_kind
