"""Queries about packets that are not sent: policy checks, `packet-transfer-arbitrate`, gates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from schemas import Problem, apc, from_json
from schemas.json_mapping.json_form import number
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
from streams.errors import InvalidInput
from streams.processing.ingress import check
from streams.protocols.apc.ingress import PACKET
from streams.protocols.apc.policy_values import ApcPolicy, TransferBounds
from streams.protocols.apc.processor.batch import BatchContext, Inbound
from streams.protocols.apc.processor.policy import CHECKS, Refusal
from streams.protocols.apc.processor.throttling import decay_record, make_checks, rank, ranking_row
from streams.protocols.apc.processor.transfer_checks import ThrottleState, transfer_of
from streams.protocols.apc.processor.verification import (
    THRESHOLD_METRICS,
    check_gates,
    pass_agrees,
)
from streams.protocols.apc.settings import ApcSettings
from topology.apc import APC_PACKETS
from topology.declarations import Table, Topic

Json = dict[str, Any]
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
    for one in sorted(CHECKS, key=lambda one: one.number):
        if one.number in _BEFORE_FIGURES and inbound.packet_type in one.types:
            refusal = one.function(inbound, context)
            if refusal is not None:
                return Outcome(refusal, None)
    result = make_checks(transfer_of(inbound.value), state)
    refused = None if result.rule is None else Refusal(result.rule, result.message)
    return Outcome(refused, result.throttle)


def bounds_of(settings: ApcSettings) -> TransferBounds:
    """Return the bounds of transfers by these settings."""
    return ApcPolicy.of(settings.as_work()).transfers


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


TOP_K = 2
_MOST = 500


def arbitrate(value: Any, top_k: int, now_ms: int, settings: ApcSettings) -> Json:
    """Rank the TRANSFERs of a list of packets and select the best.

    value: a list of packets, or an object with one under `packets`.  Each packet is in one of
    `selected`, `not_selected` and `rejected`.  Raises InvalidInput when there is no such list.
    """
    packets = value.get("packets") if isinstance(value, dict) else value
    if not isinstance(packets, list):
        message = "The input must be a list, or an object with a list under packets."
        raise InvalidInput([Problem("member_type", "", message)])
    rows: list[Json] = []
    rejected: list[Json] = []
    seen: set[str] = set()
    for index, packet in enumerate(packets, 1):
        row = _row(packet, seen, now_ms, settings)
        if isinstance(row, str):
            id_of_packet = (
                {"packet_id": packet.get("packet_id")} if isinstance(packet, dict) else {}
            )
            rejected.append({"index": index, **id_of_packet, "reason": row})
        else:
            seen.add(row["packet_id"])
            rows.append(row)
    ranking = [_rounded_row(row) for row in rank(rows)]
    chosen = max(0, top_k)
    return {
        "input_count": len(packets),
        "valid_transfer_count": len(ranking),
        "selected_count": len(ranking[:chosen]),
        "top_k": top_k,
        "selected": ranking[:chosen],
        "not_selected": ranking[chosen:],
        "rejected": rejected,
    }


def _row(packet: Any, seen: set[str], now_ms: int, settings: ApcSettings) -> Json | str:
    """Return the row of a packet, or the reason why it has none."""
    if not isinstance(packet, dict):
        return "packet must be an object"
    prepared, problems = check(PACKET, packet, now_ms, settings)
    if problems:
        rule, path, message = problems[0]
        return f"validation_error: {rule}: {path}: {message}"[:_MOST]
    if packet["packet_type"] != "TRANSFER":
        return f"packet_type_not_transfer:{packet['packet_type']}"
    unknown = ThrottleState((), decay_record(None, "flag"), bounds_of(settings))
    outcome = try_transfer(prepared.value, unknown, settings)
    if outcome.refusal is not None:
        return f"policy_reject: {outcome.refusal.rule}: {outcome.refusal.message}"
    packet_id = packet["packet_id"].lower()
    if packet_id in seen:
        return "duplicate_packet_id"
    return ranking_row(
        packet_id, {**packet["payload"], "selection": (outcome.throttle or {})["selection"]}
    )


def _rounded_row(row: Json) -> Json:
    return {k: number(v) if isinstance(v, float) else v for k, v in row.items()}


_METRICS = "/payload/metric_set"


def evaluate(value: Any, now_ms: int, settings: ApcSettings) -> Json:
    """Check metrics against the promotion gates.

    value: an EVAL packet, or a metric set, in which metrics may be missing.  Raises InvalidInput
    with the rules that it breaks.
    """
    if isinstance(value, dict) and "packet_type" not in value and "payload" not in value:
        metrics = value.get("metric_set", value)
        _check_metrics(metrics)
        return _response(metrics, settings, None, None)
    _, problems = check(PACKET, value, now_ms, settings)
    if not problems and value["packet_type"] != "EVAL":
        problems = [Problem("enum_value", "/packet_type", "packet_type must be EVAL.")]
    if problems:
        raise InvalidInput(problems)
    payload = value["payload"]
    return _response(payload["metric_set"], settings, payload["pass"], pass_agrees(payload))


def _response(
    metrics: Json, settings: ApcSettings, passed: bool | None, agrees: bool | None
) -> Json:
    result = check_gates(metrics, ApcPolicy.of(settings.as_work()).gates)
    checks = [{k: _plain(v) for k, v in check.items()} for check in result["checks"]]
    return {
        "promotable": result["met"],
        "gates": {"met": result["met"], "checks": checks},
        "pass": passed,
        "pass_agrees": agrees,
    }


def _plain(value: Any) -> Any:
    return number(value) if isinstance(value, float) else value


def _check_metrics(metrics: Any) -> None:
    """Validate the metrics within a packet that carries them.  Raises InvalidInput."""
    problems = [
        problem._replace(path=problem.path.removeprefix(_METRICS))
        for problem in apc.validate(_eval_packet(metrics))
        if problem.path.startswith(_METRICS) and problem.rule != "member_missing"
    ]
    if problems:
        raise InvalidInput(problems)


def _eval_packet(metrics: Any) -> Json:
    packet_id = "00000000-0000-4000-8000-000000000000"
    trace = {"session_id": "s", "run_id": "r", "task_id": "t", "root_packet_id": packet_id}
    return {
        "protocol_version": "apc/1.0",
        "packet_id": packet_id,
        "packet_type": "EVAL",
        "channel": "INTER_AGENT",
        "run_phase": "VALIDATION",
        "created_at": "2026-01-01T00:00:00Z",
        "sender": {"agent_id": "a", "role": "r", "swarm_id": "s"},
        "recipients": [{"agent_id": "a"}],
        "trace": {**trace, "generation": 0, "step": 0},
        "routing": {
            "delivery_mode": "DIRECT",
            "priority": 0,
            "ttl_ms": 1,
            "requires_ack": False,
        },
        "confidence": 0,
        "symbolic_keys": [],
        "proof_bundle": {},
        "payload": {
            "metric_set": metrics,
            "thresholds": dict.fromkeys(THRESHOLD_METRICS, 0),
            "pass": True,
        },
    }
