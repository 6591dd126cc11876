"""The contributions of accepted packets to lineage: edges of the graph, sums of protocols.

A task that transferred a protocol n times weighs n in the protocol's means, with the mean of its
own EVALs.  So whenever a packet becomes or ceases to be counted, the task's contribution to each
of its protocols is computed before and after, and the difference is sent to apc-lineage, which
adds up the sums.  All numbers are integers, so differences cancel exactly and their order does not
matter.

A packet that bears lineage and is no TRANSFER counts for its protocol too.  It has a row of its
own below the task's, written once, so that its retraction can look up its protocol.

The `delta_id` is `<event_id>/<protocol_id>/<kind>`; the event is the fact that states what
happened.

Source: APC guide, 5.5 and 5.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from schemas.decimals import to_nano
from schemas.formats import is_uuid
from streams.engine.processor import AvroValue
from streams.processing.graph import LineageEdge
from streams.protocols.apc.lineage.rows import SUMS
from streams.protocols.apc.processor.batch import BatchContext, EventContext, Inbound, target_ids
from topology.apc import APC_TRANSFERS
from topology.keys import composite

Sums = tuple[int, ...]
"""Values of the members named in `SUMS`, or of all but the first of them."""

_NO_SUMS: Sums = (0,) * (len(SUMS) - 1)
_ONE_PACKET: Sums = (1, *_NO_SUMS)
"""A packet that bears lineage, and no more."""
_NO_TASK: AvroValue = {"evals": [], "protocols": {}}
_NO_TRANSFERS: AvroValue = {"transfers": 0, "accepted": 0, "cross": 0}

_EVALUATING = ("EVAL", "ARBITRATION")


def add(packet: Inbound, row: AvroValue, context: BatchContext) -> None:
    """Count an accepted packet from now on; row: the packet's."""
    lineage = packet.value["lineage"]
    event_context = packet.event_context
    if packet.packet_type == "EVAL":
        _add_eval(packet, row, event_context, context)
    if row["packet_type"] == "TRANSFER":
        protocol = row["transfer"]["protocol_id"]
        change = _count_transfer(row, context, transfer=+1)
        _send_deltas("transfer", {protocol: (1, *change[protocol])}, row, event_context)
    elif lineage is not None:
        protocol = lineage["protocol_id"]
        context.tasks.put(_bearer_key(row), {"evals": [], "protocols": {protocol: _NO_TRANSFERS}})
        _send_deltas("lineage", {protocol: _ONE_PACKET}, row, event_context)


def remove(row: AvroValue, event_context: EventContext, context: BatchContext) -> None:
    """Subtract what a packet added, since it is no longer counted."""
    packets: dict[str, int] = {}
    differences: dict[str, Sums] = {}
    if row["packet_type"] == "TRANSFER":
        packets[row["transfer"]["protocol_id"]] = -1
        differences = _count_transfer(row, context, transfer=-1)
    else:
        bearer = context.tasks.get(_bearer_key(row))
        if bearer is not None:
            packets = dict.fromkeys(bearer["protocols"], -1)
            context.tasks.delete(_bearer_key(row))
        if row["packet_type"] == "EVAL":
            differences = _remove_eval(row, context)
    protocols = dict.fromkeys((*differences, *packets))
    changes = {p: (packets.get(p, 0), *differences.get(p, _NO_SUMS)) for p in protocols}
    _send_deltas("removal", changes, row, event_context)


def newest_eval_met_gates(row: AvroValue, context: BatchContext) -> bool:
    """Return whether the newest counted EVAL of this packet's task met the gates."""
    return newest_met_gates(task_key(row), context)


def newest_met_gates(key: str, context: BatchContext) -> bool:
    task = context.tasks.get(key)
    return bool(task and task["evals"] and task["evals"][-1]["gates_met"])


def task_key(row: AvroValue) -> str:
    """Return the key of a packet's task; row: the packet's, or its trace with the session."""
    return composite(row["session_id"], row["run_id"], row["task_id"])


def _bearer_key(row: AvroValue) -> str:
    return composite(row["session_id"], row["run_id"], row["task_id"], row["packet_id"])


def _add_eval(
    packet: Inbound, row: AvroValue, event_context: EventContext, context: BatchContext
) -> None:
    metrics = packet.payload["metric_set"]
    drift = metrics["drift_risk"]
    counted = {
        "packet_id": packet.packet_id,
        "outcome_nano": to_nano(metrics["outcome"]),
        "drift_nano": None if drift is None else to_nano(drift),
        "gates_met": row["gates"]["met"],
    }
    key = task_key(row)
    before = context.tasks.get(key) or _NO_TASK
    after = {**before, "evals": [*before["evals"], counted]}
    context.tasks.put(key, after)
    differences = _differences(before, after, after["protocols"])
    _send_deltas("eval", {p: (0, *sums) for p, sums in differences.items()}, row, event_context)


def _remove_eval(row: AvroValue, context: BatchContext) -> dict[str, Sums]:
    key = task_key(row)
    before = context.tasks.get(key) or _NO_TASK
    evals = [counted for counted in before["evals"] if counted["packet_id"] != row["packet_id"]]
    after = {**before, "evals": evals}
    _put_task(key, after, context)
    return _differences(before, after, after["protocols"])


def _count_transfer(row: AvroValue, context: BatchContext, *, transfer: int) -> dict[str, Sums]:
    """Add a TRANSFER to its task, or remove it; transfer: 1 or -1."""
    key, member = task_key(row), row["transfer"]
    protocol = member["protocol_id"]
    before = context.tasks.get(key) or _NO_TASK
    counts_before = before["protocols"].get(protocol, _NO_TRANSFERS)
    counts = {
        "transfers": counts_before["transfers"] + transfer,
        "accepted": counts_before["accepted"] + transfer * member["accepted"],
        "cross": counts_before["cross"] + transfer * member["cross_use_case"],
    }
    protocols = {**before["protocols"], protocol: counts}
    if counts["transfers"] == 0:
        del protocols[protocol]
    after = {**before, "protocols": dict(sorted(protocols.items()))}
    _put_task(key, after, context)
    return _differences(before, after, (protocol,))


def _put_task(key: str, task: AvroValue, context: BatchContext) -> None:
    if task["evals"] or task["protocols"]:
        context.tasks.put(key, task)
    else:
        context.tasks.delete(key)


def _differences(before: AvroValue, after: AvroValue, protocols: Iterable[str]) -> dict[str, Sums]:
    old, new = _means(before), _means(after)
    differences = {}
    for protocol in protocols:
        sums_before = _contribution(before["protocols"].get(protocol, _NO_TRANSFERS), *old)
        sums_after = _contribution(after["protocols"].get(protocol, _NO_TRANSFERS), *new)
        differences[protocol] = tuple(b - a for a, b in zip(sums_before, sums_after, strict=True))
    return differences


def _contribution(counts: AvroValue, outcome: int | None, drift: int | None) -> Sums:
    n = counts["transfers"]
    return (
        n,
        counts["accepted"],
        counts["cross"],
        1 if n else 0,
        0 if outcome is None else n,
        0 if outcome is None else n * outcome,
        0 if drift is None else n,
        0 if drift is None else n * drift,
    )


def _means(task: AvroValue) -> tuple[int | None, int | None]:
    """Return the mean outcome and drift of the task's EVALs in units of 10⁻⁹; None without one."""
    outcomes = [counted["outcome_nano"] for counted in task["evals"]]
    drifts = [counted["drift_nano"] for counted in task["evals"]]
    return _mean(outcomes), _mean([drift for drift in drifts if drift is not None])


def _mean(numbers: list[int]) -> int | None:
    """Return the mean, rounded half-even."""
    if not numbers:
        return None
    whole, remainder = divmod(sum(numbers), len(numbers))
    twice = 2 * remainder
    return whole + (twice > len(numbers) or (twice == len(numbers) and whole % 2 == 1))


def _send_deltas(
    kind: str,
    changes: Mapping[str, Sums],
    row: AvroValue,
    event_context: EventContext,
) -> None:
    """Send a delta for each protocol whose sums change; row: of the packet that is the reason."""
    for protocol, sums in changes.items():
        if any(sums):
            _send_delta(kind, protocol, sums, None, row, event_context)


def send_decision(
    protocol: str,
    decision: AvroValue,
    row: AvroValue,
    event_context: EventContext,
) -> None:
    _send_delta("arbitration", protocol, (0, *_NO_SUMS), decision, row, event_context)


def _send_delta(
    kind: str,
    protocol: str,
    sums: Sums,
    decision: AvroValue | None,
    row: AvroValue,
    event_context: EventContext,
) -> None:
    delta_id = f"{event_context.event_id}/{composite(protocol, kind)}"
    delta = {
        "delta_id": delta_id,
        "kind": kind,
        "protocol_id": protocol,
        "session_id": row["session_id"],
        "run_id": row["run_id"],
        "task_id": row["task_id"],
        "packet_id": row["packet_id"],
        "at": event_context.at,
        "cause": event_context.cause,
        **dict(zip(SUMS, sums, strict=True)),
        "decision": decision,
    }
    event_context.send(APC_TRANSFERS, protocol, delta, delta_id)


def emit_edges(packet: Inbound) -> None:
    """Send each edge of the packet once."""
    packet.event_context.emit_edge(*dict.fromkeys(_edges(packet)))


def _edges(packet: Inbound) -> Iterator[LineageEdge]:
    node, trace = _packet_node(packet.packet_id), packet.value["trace"]
    yield LineageEdge(node, "same_trace", f"trace:{packet.session_id}")
    if trace["parent_packet_id"] is not None:
        yield LineageEdge(node, "child_of", _packet_node(trace["parent_packet_id"]))
    if trace["root_packet_id"] != packet.packet_id:
        yield LineageEdge(node, "part_of", _packet_node(trace["root_packet_id"]))
    match packet.packet_type:
        case "ACK" | "NACK":
            yield LineageEdge(node, "acknowledges", _packet_node(packet.payload["acked_packet_id"]))
        case "RETRACTION":
            yield from _retraction_edges(packet, node)
    if packet.value["lineage"] is not None:
        yield from _lineage_edges(packet, node)
    if packet.packet_type in _EVALUATING:
        for named in target_ids(packet):
            if is_uuid(named):
                yield LineageEdge(node, "evaluates", _packet_node(named))


def _retraction_edges(packet: Inbound, node: str) -> Iterator[LineageEdge]:
    target = _packet_node(packet.payload["target_packet_id"])
    replacement = packet.payload["replacement_packet_id"]
    yield LineageEdge(node, "retracts", target)
    if replacement is not None:
        yield LineageEdge(_packet_node(replacement), "replaces", target)


def _lineage_edges(packet: Inbound, node: str) -> Iterator[LineageEdge]:
    lineage = packet.value["lineage"]
    protocol = _protocol_node(lineage["protocol_id"])
    relation = "transfers" if packet.packet_type == "TRANSFER" else "derived_from"
    yield LineageEdge(node, relation, protocol)
    for parent in lineage["parent_protocol_ids"] or ():
        yield LineageEdge(protocol, "derived_from", _protocol_node(parent))


def _packet_node(packet_id: str) -> str:
    return f"apc:packet:{packet_id}"


def _protocol_node(protocol_id: str) -> str:
    return f"apc:protocol:{protocol_id}"
