"""`packet-evaluate`: would this EVAL be promoted?"""

from __future__ import annotations

from typing import Any

from schemas import Problem, apc
from schemas.json_mapping.json_form import number
from streams.errors import InvalidInput
from streams.processing.ingress import check
from streams.protocols.apc.ingress import PACKET
from streams.protocols.apc.processor.verification import THRESHOLD_METRICS, gates, pass_agrees
from streams.protocols.apc.settings import ApcSettings

Json = dict[str, Any]
_METRICS = "/payload/metric_set"


def evaluate(value: Any, now_ms: int, settings: ApcSettings) -> Json:
    """Check metrics against the promotion gates.

    value: an EVAL packet, or a metric set, in which metrics may be missing.  Raises InvalidInput
    with the rules that it breaks.
    """
    if isinstance(value, dict) and "packet_type" not in value and "payload" not in value:
        metrics = value.get("metric_set", value)
        _check_metrics(metrics)
        return _response(metrics, None, None)
    _, problems = check(PACKET, value, now_ms, settings)
    if not problems and value["packet_type"] != "EVAL":
        problems = [Problem("enum_value", "/packet_type", "packet_type must be EVAL.")]
    if problems:
        raise InvalidInput(problems)
    payload = value["payload"]
    return _response(payload["metric_set"], payload["pass"], pass_agrees(payload))


def _response(metrics: Json, passed: bool | None, agrees: bool | None) -> Json:
    result = gates(metrics)
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
