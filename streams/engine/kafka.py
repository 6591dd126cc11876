"""The log on Apache Kafka.  The only module that imports confluent_kafka.

Readers use assigned partitions; an agent's inbox is read by a consumer group of its own; the
workers' group consumer is Faust's (`streams.engine.worker`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    admin,
)
from confluent_kafka import Producer as KafkaProducer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from confluent_kafka.admin import NewTopic as KafkaNewTopic

from streams.engine.appender import Appender, Report
from streams.engine.kafka_admin import KafkaAdmin
from streams.engine.kafka_clients import APPENDER, COMMON, GROUP, PACES, READER, TRANSACTIONS
from streams.engine.kafka_group import KafkaGroup, Offsets
from streams.engine.kafka_reader import KafkaReader
from streams.engine.kafka_records import listed, placed_record, produce, reported, topic_id
from streams.engine.kafka_refusals import (
    Refusals,
    delivery_error,
    invalid_settings,
    refusal_of,
)
from streams.engine.log import NewTopic, Pace, Reader, TopicInfo
from streams.engine.records import Output, Record, TopicPartition
from streams.errors import (
    BrokerRefuses,
    BrokerUnavailable,
    CommitFailed,
    Fenced,
    HeadraceError,
    TopicsMismatch,
)
from topology.acls import READERS_GROUP

T = TypeVar("T")

_TIMEOUT_S, _ANSWER_S = 30, 10
_TRIES = 3
"""Attempts, each with a new client: one sometimes loses a request to a broker that comes back."""
_DEFAULT = -1  # the brokers' default replica count
_LEADERS_S, _LEADER_PAUSE_S = 120, 0.01  # new topics may take so long to have all leaders
_FIRST_WAIT_S, _POLL_S = 0.25, 0.05
_FENCED = (
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
)
_LEADER_MOVED = (
    KafkaError._NOENT,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
)
_UNREACHABLE = (
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)


class KafkaLog:
    """The log on Kafka.  bootstrap: host:port[,host:port…]; security: client properties."""

    def __init__(self, bootstrap: str, security: Mapping[str, str], group: str) -> None:
        self._refusals = Refusals(bootstrap)
        self._base: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "error_cb": self._refusals,
            **security,
        }
        self._bootstrap, self._security = bootstrap, security
        self._group = group
        self._admin = self._new_admin()
        self._appender = Appender(lambda: KafkaAppender({**self._base, **APPENDER}))
        self.submit = self._appender.submit

    def _new_admin(self) -> AdminClient:
        try:
            return AdminClient({**self._base, **COMMON})
        except KafkaException as exc:
            raise invalid_settings(exc) from exc

    def check(self) -> None:
        """Wait until a broker accepts our connection.

        Raises LoginFailed, TlsFailed, AccessDenied once a broker reports it, or BrokerUnavailable.
        """
        deadline, wait_s = time.monotonic() + _TIMEOUT_S, _FIRST_WAIT_S
        while (start := time.monotonic()) + wait_s < deadline:
            try:
                self._admin.list_topics(timeout=wait_s)
                break
            except KafkaException:  # at once if a broker has just come up, else after wait_s
                self._admin.poll(max(_POLL_S, start + wait_s - time.monotonic()))
                if reason := self._refusals.hopeless():
                    raise reason from None
            wait_s *= 2
        self._ask(lambda: self._admin.list_topics(timeout=_ANSWER_S))

    def cluster_id(self) -> str:
        # describe_cluster aborts the process (an assertion of librdkafka 2.16) when a broker that
        # was frozen answers before it knows any brokers.
        return self._ask(lambda: str(self._admin.list_topics(timeout=_TIMEOUT_S).cluster_id))

    def topics(self) -> dict[str, TopicInfo]:
        def ask() -> dict[str, TopicInfo]:
            topics = self._admin.list_topics(timeout=_TIMEOUT_S).topics
            valid = [t for name, t in topics.items() if name[:2] != "__" and t.error is None]
            return {t.topic: TopicInfo(t.topic, len(t.partitions)) for t in valid}

        return self._ask(ask)

    def topic_ids(self, names: Collection[str]) -> dict[str, str]:
        def ask() -> dict[str, str]:
            futures = self._admin.describe_topics(TopicCollection(list(names))) if names else {}
            return {name: topic_id(self._result(future)) for name, future in futures.items()}

        return self._ask(ask)

    def create(self, topics: Sequence[NewTopic]) -> None:
        new = [
            KafkaNewTopic(t.name, t.partitions, t.replicas or _DEFAULT, config=dict(t.config))
            for t in topics
        ]
        created: set[str] = set()
        for name, future in (self._admin.create_topics(new) if new else {}).items():
            try:
                future.result(_TIMEOUT_S)
                created.add(name)
            except KafkaException as exc:
                if refusal := refusal_of(exc.args[0]):
                    raise refusal from exc
                if exc.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise TopicsMismatch(f"topic {name} cannot be created: {exc}") from exc
            except TimeoutError as exc:
                raise BrokerUnavailable(f"no answer from Kafka at {self._bootstrap}") from exc
        tps = [TopicPartition(t.name, p) for t in topics for p in range(t.partitions)]
        self._await_leaders([tp for tp in tps if tp.topic in created])

    def _await_leaders(self, tps: Sequence[TopicPartition]) -> None:
        """Wait until every partition of new topics has a leader that all brokers know."""
        deadline = time.monotonic() + _LEADERS_S
        while tps:
            try:
                self._ask(lambda: self._refresh_metadata({tp.topic for tp in tps}))
                self.ends(tps)
                return
            except (TopicsMismatch, BrokerUnavailable) as exc:
                if isinstance(exc, BrokerRefuses) or time.monotonic() > deadline:
                    raise
                time.sleep(_LEADER_PAUSE_S)

    def admin(self) -> KafkaAdmin:
        return KafkaAdmin(self._admin, admin, KafkaException)

    def delete(self, topics: Sequence[str]) -> None:
        futures = self._admin.delete_topics(list(topics)).values()
        self._ask(lambda: [future.result(_TIMEOUT_S) for future in futures], tries=1)

    def append(self, outputs: Sequence[Output]) -> list[Record]:
        return self.submit(outputs).result()

    def starts(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(tps, OffsetSpec.earliest())

    def ends(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(tps, OffsetSpec.latest())

    def high_watermarks(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(tps, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)

    def _offsets(
        self,
        tps: Sequence[TopicPartition],
        spec: OffsetSpec,
        isolation: Any = IsolationLevel.READ_COMMITTED,
    ) -> dict[TopicPartition, int]:
        def list_offsets() -> dict[TopicPartition, int]:
            specs = {KafkaPartition(*tp): spec for tp in tps}
            pairs = self._admin.list_offsets(
                specs, isolation_level=isolation, request_timeout=_TIMEOUT_S
            ).items()
            return {TopicPartition(t.topic, t.partition): listed(self._result(f)) for t, f in pairs}

        def retry_until_led() -> dict[TopicPartition, int]:
            deadline = time.monotonic() + _ANSWER_S
            while True:
                try:
                    return list_offsets()
                except KafkaException as exc:
                    if exc.args[0].code() not in _LEADER_MOVED or time.monotonic() > deadline:
                        raise
                self._refresh_metadata({tp.topic for tp in tps})
                time.sleep(_LEADER_PAUSE_S)

        return self._ask(retry_until_led) if tps else {}

    def _refresh_metadata(self, topics: Collection[str]) -> None:
        """Fetch all metadata: otherwise the client keeps former leaders, or none, for minutes."""
        missing = set(topics) - set(self._admin.list_topics(timeout=_TIMEOUT_S).topics)
        if missing:
            raise TopicsMismatch(f"Kafka does not know {', '.join(sorted(missing))}")

    def committed(self, tps: Sequence[TopicPartition], group: str | None = None) -> Offsets:
        name = group or self._group

        def list_offsets() -> Offsets:
            request = ConsumerGroupTopicPartitions(name, [KafkaPartition(*tp) for tp in tps])
            futures = self._admin.list_consumer_group_offsets([request])
            items = self._result(futures[name]).topic_partitions
            return {TopicPartition(t.topic, t.partition): t.offset for t in items if t.offset >= 0}

        return self._ask(list_offsets) if tps else {}

    def reader(self, positions: Mapping[TopicPartition, int], pace: Pace = Pace.END) -> Reader:
        if pace is Pace.FEW:
            from streams.engine.fetched.reader import open_reader  # few processes need aiokafka

            if bounded := open_reader(self._bootstrap, self._security, positions):
                return bounded
        group = f"{self._group}{READERS_GROUP}"  # the client requires one; nobody joins or commits
        config = {**self._base, **READER, **PACES[pace], "group.id": group}
        return KafkaReader(Consumer(config), KafkaPartition, positions)

    def group(self, name: str, *topics: str, begins: Offsets | None = None) -> KafkaGroup:
        """Join a consumer group.  begins: where a new one begins, committed before it is joined."""
        if begins and not self.committed(list(begins), name):
            offsets = [KafkaPartition(*tp, offset) for tp, offset in begins.items()]
            self.admin().begin_group(ConsumerGroupTopicPartitions(name, offsets))
        consumer = Consumer({**self._base, **GROUP, "group.id": name})
        return KafkaGroup(consumer, KafkaPartition, topics, KafkaError._PARTITION_EOF)

    def producer(self, transactional_id: str) -> KafkaTransactions:
        return KafkaTransactions(self._base, transactional_id)

    def close(self) -> None:
        self._appender.close()

    def _result(self, future: Future[Any]) -> Any:
        return future.result(_ANSWER_S)

    def _ask(self, question: Callable[[], T], tries: int = _TRIES) -> T:
        try:
            answer = question()
            self._refusals.clear()
            return answer
        except KafkaException as exc:
            error = exc.args[0]
            self._admin.poll(0)  # serve the error callback
            if refusal := refusal_of(error) or self._refusals.last:
                raise refusal from exc
            if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise TopicsMismatch(f"Kafka does not know a topic: {error.str()}") from exc
            raise BrokerUnavailable(f"no answer from Kafka at {self._bootstrap}: {exc}") from exc
        except TimeoutError as exc:
            self._admin.poll(0)
            if self._refusals.last is None:
                # A client that lost all brokers at once may answer nothing when they are back.
                self._admin = self._new_admin()
                if tries > 1:
                    return self._ask(question, tries - 1)
            silent = BrokerUnavailable(f"no answer from Kafka at {self._bootstrap}")
            raise self._refusals.last or silent from exc


class KafkaAppender:
    """The idempotent producer of a log."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._producer = KafkaProducer(dict(config))
        self._fatal: HeadraceError | None = None

    def produce(self, output: Output, report: Report) -> bool:
        def delivered(error: KafkaError | None, message: Any) -> None:
            if error:
                report(self._fatal or delivery_error(error))
            else:
                report(placed_record(output, message))

        try:
            produce(self._producer, output, delivered)
            return True
        except KafkaException as exc:
            report(delivery_error(exc.args[0]))
            return not exc.args[0].fatal()

    def poll(self, timeout_s: float) -> None:
        self._serve(self._producer.poll, timeout_s)

    def flush(self, timeout_s: float) -> None:
        self._serve(self._producer.flush, timeout_s)

    def _serve(self, serve: Callable[[float], Any], timeout_s: float) -> None:
        """Serve reports.  A fatal error is raised only once, so keep it for all unsent records."""
        try:
            serve(timeout_s)
        except KafkaException as exc:
            self._fatal = delivery_error(exc.args[0])
            self._producer.purge()

    def idle(self) -> bool:
        return not len(self._producer)


class KafkaTransactions:
    """The transactional producer of one task.  Its calls block."""

    def __init__(self, base: Mapping[str, Any], transactional_id: str) -> None:
        self._config = {**base, **TRANSACTIONS, "transactional.id": transactional_id}
        self._producer: KafkaProducer | None = None

    def open(self) -> None:
        self._producer = KafkaProducer(self._config)
        try:
            self._producer.init_transactions(60)
        except KafkaException as exc:
            raise _transaction_error(exc) from exc

    def commit(self, outputs: Sequence[Output]) -> dict[TopicPartition, int]:
        assert self._producer is not None
        try:
            return self._commit(self._producer, outputs)
        except KafkaException as exc:
            # Not after a time-out: the client would request a new epoch, and fence a new owner.
            if exc.args[0].txn_requires_abort() and exc.args[0].code() not in _UNREACHABLE:
                self._abort(self._producer)
            raise _transaction_error(exc) from exc

    def _commit(
        self, producer: KafkaProducer, outputs: Sequence[Output]
    ) -> dict[TopicPartition, int]:
        ends: dict[TopicPartition, int] = {}
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Any) -> None:
            if error is not None:
                failed.append(error)
                return
            tp = TopicPartition(message.topic(), message.partition())
            ends[tp] = max(ends.get(tp, 0), message.offset() + 1)

        self._begin(producer)
        for output, reports in zip(outputs, reported(outputs), strict=True):
            produce(producer, output, delivered if reports else None)
        self._end(producer)
        if failed:
            raise CommitFailed(f"a record of a committed transaction failed: {failed[0].str()}")
        return ends

    def _begin(self, producer: KafkaProducer) -> None:
        producer.begin_transaction()

    def _end(self, producer: KafkaProducer) -> None:
        producer.commit_transaction(_TIMEOUT_S)

    def _abort(self, producer: KafkaProducer) -> None:
        try:
            producer.abort_transaction(_TIMEOUT_S)
        except KafkaException:
            return  # the next owner's init_transactions aborts it

    def close(self) -> None:
        """Drop the producer.  The next owner aborts what is not committed."""
        if self._producer is not None:
            self._producer.purge()
        self._producer = None


def _transaction_error(exc: KafkaException) -> Fenced | CommitFailed | BrokerUnavailable:
    error: KafkaError = exc.args[0]
    if refusal := refusal_of(error):
        return refusal
    if error.code() in _UNREACHABLE:
        return BrokerUnavailable(f"Kafka does not answer: {error.str()}")
    if error.code() in _FENCED:
        return Fenced(f"another owner has taken the task over: {error.str()}")
    return CommitFailed(f"the transaction failed: {error.str()}")
