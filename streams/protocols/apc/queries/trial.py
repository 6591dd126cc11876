"""A trial of the policy checks for a packet that is not sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from schemas import from_json
from streams.engine.processor import (
    AvroValue,
    GlobalTable,
    Made,
    Message,
    ProcessorContext,
    Rows,
    Timer,
)
from streams.engine.records import LogRecord, Record
from streams.protocols.apc.processor.batch import BatchContext, Inbound
from streams.protocols.apc.processor.policy import CHECKS, Refusal
from streams.protocols.apc.processor.throttling import decay_record, make_checks
from streams.protocols.apc.processor.transfer_checks import ThrottleState, transfer_of
from streams.protocols.apc.settings import ApcSettings
from topology.apc import APC_PACKETS
from topology.declarations import Table, Topic

UNKNOWN_PROTOCOL = ThrottleState((), decay_record(None, "flag"))
"""The state of a protocol without receivers or lineage."""
_BEFORE_FIGURES = (2, 3)
"""The numbers of the checks that look at the packet alone."""


class Outcome(NamedTuple):
    """The outcome of a trial.

    refusal: of the check that failed.  throttle: the Throttle, if those checks were reached.
    """

    refusal: Refusal | None
    throttle: AvroValue | None


def try_transfer(packet: Mapping[str, Any], state: ThrottleState, settings: ApcSettings) -> Outcome:
    """Make checks 2 to 14 of a TRANSFER that has the right shape; packet: its JSON form."""
    inbound, context = _inbound(packet), BatchContext(_TrialContext(settings))
    for check in sorted(CHECKS, key=lambda check: check.number):
        if check.number in _BEFORE_FIGURES and inbound.packet_type in check.types:
            refusal = check.function(inbound, context)
            if refusal is not None:
                return Outcome(refusal, None)
    result = make_checks(transfer_of(inbound.value), state)
    refused = None if result.rule is None else Refusal(result.rule, result.message)
    return Outcome(refused, result.throttle)


def _inbound(packet: Mapping[str, Any]) -> Inbound:
    value = from_json(APC_PACKETS.record or "", dict(packet))
    record = LogRecord(APC_PACKETS.name, 0, 0, 0, None, None)
    inbound = Inbound(Message(APC_PACKETS, record, value, b"", False))
    inbound.read()
    return inbound


class _EmptyTable:
    """A table without rows."""

    def load(self, keys: Iterable[str]) -> None: ...

    def get(self, key: str) -> AvroValue | None:
        return None

    def index(self, make: Callable[[], Made]) -> Made:
        return make()

    def index_positions(self) -> list[int]:
        return []

    def put(self, key: str, row: AvroValue) -> None:
        raise TypeError("a trial writes nothing")

    def delete(self, key: str) -> None:
        raise TypeError("a trial writes nothing")


class _TrialContext:
    """A `ProcessorContext` of settings and empty tables; any write is an error."""

    partition, partitions, cause = 0, 1, ""

    def __init__(self, settings: ApcSettings) -> None:
        self.settings = settings.as_work()

    def rows(self, table: Table) -> Rows:
        return _EmptyTable()

    def global_table(self, table: Table) -> GlobalTable:
        return _EmptyTable()

    def sender(self, cause: str) -> str | None:
        return None

    def set_principal(self, cause: str, principal: str | None) -> None:
        raise TypeError("a trial has nothing that waited")

    def savepoint(self, part: Callable[[ProcessorContext], None]) -> Exception | None:
        raise TypeError("a trial has no parts")

    def send_to_dlq(self, topic: Topic, record: Record, failure: Exception) -> None:
        raise TypeError("a trial writes nothing")

    def send(self, topic: Topic, key: str, value: AvroValue, **headers: Any) -> None:
        raise TypeError("a trial writes nothing")

    def set_timer(self, timer: Timer) -> None:
        raise TypeError("a trial writes nothing")

    def delete_timer(self, due_ms: int, kind: str, key: str) -> None:
        raise TypeError("a trial writes nothing")
