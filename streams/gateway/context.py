"""The state that all requests to one gateway share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from streams.access.tokens import TokenFile
from streams.api.route import ProcessState
from streams.engine.log import Log
from streams.engine.principals import Principals
from streams.gateway.bodies import BodyMemory
from streams.gateway.broker import BrokerWatch
from streams.gateway.limits import THREADS
from streams.gateway.metrics import Metrics
from streams.gateway.view_protocol import ViewProtocol
from streams.log.open_letters import DeadLetters
from streams.log.state import SharedState
from streams.settings import Settings


@dataclass
class Gateway:
    """The state of one gateway.

    partitions: the partition count of each input topic, by full name.  cluster_id: of Kafka.
    clock: returns ms since the epoch.
    tokens: None if no tokens are required.  principals: None if nothing is signed.
    queries, log_reads: threads for what reads the view only, and for what may wait for Kafka.
    """

    settings: Settings
    log: Log
    view: ViewProtocol
    partitions: Mapping[str, int]
    cluster_id: str
    broker: BrokerWatch
    dead_letters: DeadLetters
    metrics: Metrics
    clock: Callable[[], int]
    tokens: TokenFile | None = None
    principals: Principals | None = None
    queries: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(THREADS, "query")
    )
    log_reads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(THREADS, "log-read")
    )
    sends: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(THREADS, "send"))
    in_flight: int = 0

    def __post_init__(self) -> None:
        self.log_readers: Counter[str | None] = Counter()  # by principal
        self.bodies = BodyMemory(self.settings.gateway_bodies_mib << 20)
        self.started_ms = self.clock()
        self.process = ProcessState(
            self.view.status,
            SharedState(self.log, self.settings.prefix),
            lambda: self.dead_letters.counts,
            lambda: self.broker.up,
            self.view.recent_fact,
        )

    def stop(self) -> None:
        for pool in (self.queries, self.log_reads, self.sends):
            pool.shutdown(wait=True, cancel_futures=True)
