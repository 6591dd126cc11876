"""The contributions of accepted packets to lineage: edges of the graph, sums of protocols.

A task that transferred a protocol n times weighs n in the protocol's means, with the mean of its
own EVALs.  So whenever a packet becomes or ceases to be counted, the task's contribution to each
of its protocols is computed before and after, and the difference is sent to apc-lineage, which
adds up the sums.  All numbers are integers, so differences cancel exactly and their order does not
matter.

A packet that bears lineage and is no TRANSFER counts for its protocol too.

The methods and protocols that a task tries are its strategies.  A task with a counted EVAL is one
attempt of each of them; what it says of them is sent to apc-priors, as differences too.  The
packet's row has its strategies, so that its retraction can look them up.

The `delta_id` is `<event_id>/<protocol_id>/<kind>`, and `<event_id>/<use_case>/<kind>/<strategy>`;
the event is the fact that states what happened.

Source: APC guide, 5.5, 5.6 and 5.10.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from schemas.decimals import to_nano
from schemas.formats import is_uuid
from streams.engine.processor import AvroValue
from streams.processing.graph import LineageEdge
from streams.protocols.apc.lineage.rows import SUMS
from streams.protocols.apc.processor.batch import BatchContext, EventContext, Inbound, target_ids
from topology.apc import APC_OUTCOMES, APC_TRANSFERS
from topology.keys import composite, split

Sums = tuple[int, ...]
"""Values of the members named in `SUMS`, or of all but the first of them."""

_NO_SUMS: Sums = (0,) * (len(SUMS) - 1)
_ONE_PACKET: Sums = (1, *_NO_SUMS)
"""A packet that bears lineage, and no more."""
_NO_TASK: AvroValue = {"evals": [], "protocols": {}, "strategies": {}}
_NO_TRANSFERS: AvroValue = {"transfers": 0, "accepted": 0, "cross": 0}

_EVALUATING = ("EVAL", "ARBITRATION")
_IN_TASK = frozenset({"EVAL", "TRANSFER"})
"""The packets that their task's row knows, also without a strategy."""
METHOD, PROTOCOL = "method", "protocol"
"""Kinds of strategies."""
NO_USE_CASE = "-"
EVIDENCE = ("attempts", "outcome_sum_nano", "gates_met", "drift_weight", "drift_sum_nano")
"""The members that a change of evidence has and a prior adds up."""
_NO_EVIDENCE: Sums = (0,) * len(EVIDENCE)


def add(packet: Inbound, row: AvroValue, context: BatchContext) -> None:
    """Count an accepted packet from now on; row: the packet's."""
    lineage = packet.value["lineage"]
    event_context = packet.event_context
    row["strategies"] = strategies_of(packet) or None
    before, after = _count(row, context, _counted_eval(packet, row), +1)
    if packet.packet_type == "EVAL":
        differences = _differences(before, after, after["protocols"])
        changes = {p: (0, *sums) for p, sums in differences.items()}
        _send_deltas("eval", changes, row, event_context)
    if row["packet_type"] == "TRANSFER":
        protocol = row["transfer"]["protocol_id"]
        change = _differences(before, after, (protocol,))
        _send_deltas("transfer", {protocol: (1, *change[protocol])}, row, event_context)
    elif lineage is not None:
        _send_deltas("lineage", {lineage["protocol_id"]: _ONE_PACKET}, row, event_context)
    if after["evals"]:
        _send_outcomes(before, after, row, event_context)


def remove(row: AvroValue, event_context: EventContext, context: BatchContext) -> None:
    """Subtract what a packet added, since it is no longer counted."""
    packets: dict[str, int] = {}
    differences: dict[str, Sums] = {}
    before, after = _count(row, context, None, -1)
    if row["packet_type"] == "TRANSFER":
        protocol = row["transfer"]["protocol_id"]
        packets[protocol] = -1
        differences = _differences(before, after, (protocol,))
    else:
        packets = dict.fromkeys(_borne_protocols(row, context), -1)
        if row["packet_type"] == "EVAL":
            differences = _differences(before, after, after["protocols"])
    protocols = dict.fromkeys((*differences, *packets))
    changes = {p: (packets.get(p, 0), *differences.get(p, _NO_SUMS)) for p in protocols}
    _send_deltas("removal", changes, row, event_context)
    if before["evals"]:
        _send_outcomes(before, after, row, event_context)


def newest_eval_met_gates(row: AvroValue, context: BatchContext) -> bool:
    """Return whether the newest counted EVAL of this packet's task met the gates."""
    return newest_met_gates(task_key(row), context)


def newest_met_gates(key: str, context: BatchContext) -> bool:
    task = context.tasks.get(key)
    return bool(task and task["evals"] and task["evals"][-1]["gates_met"])


def task_key(row: AvroValue) -> str:
    """Return the key of a packet's task; row: the packet's, or its trace with the session."""
    return composite(row["session_id"], row["run_id"], row["task_id"])


def strategies_of(packet: Inbound) -> list[AvroValue]:
    """Return what an accepted packet tries: its method if it is an IDEA, and its protocol."""
    lineage, metadata = packet.value["lineage"], packet.metadata
    named = []
    if packet.packet_type == "IDEA":
        named.append((METHOD, packet.payload["method_id"]))
    if lineage is not None:
        named.append((PROTOCOL, lineage["protocol_id"]))
    use_case = metadata.get("use_case") or metadata.get("project_id") or NO_USE_CASE
    return [{"use_case": use_case, "kind": kind, "strategy": name} for kind, name in named]


def strategy_key(strategy: Mapping[str, Any]) -> str:
    """Return the key of a strategy's row; strategy: any record with the members of Strategy."""
    return composite(strategy["use_case"], strategy["kind"], strategy["strategy"])


def _borne_protocols(row: AvroValue, context: BatchContext) -> list[str]:
    """Return the protocol of a packet that bears lineage and is no TRANSFER, if it has one.

    Earlier releases have it in a row of its own below the task's, which then is of no more use.
    """
    if row["strategies"]:
        return [one["strategy"] for one in row["strategies"] if one["kind"] == PROTOCOL]
    key = composite(row["session_id"], row["run_id"], row["task_id"], row["packet_id"])
    bearer = context.tasks.get(key)
    if bearer is None:
        return []
    context.tasks.delete(key)
    return list(bearer["protocols"])


def _count(
    row: AvroValue, context: BatchContext, counted_eval: AvroValue | None, change: int
) -> tuple[AvroValue, AvroValue]:
    """Add a packet to its task, or remove it, and return the task before and after.

    counted_eval: of an EVAL that is added.  change: 1 or -1.
    """
    key = task_key(row)
    tried = [strategy_key(strategy) for strategy in row["strategies"] or ()]
    if row["packet_type"] not in _IN_TASK and not tried:
        return _NO_TASK, _NO_TASK
    before = context.tasks.get(key) or _NO_TASK
    counts = dict(before["strategies"])
    for strategy in tried:
        counts[strategy] = counts.get(strategy, 0) + change
        if counts[strategy] <= 0:
            del counts[strategy]
    after = {**before, "strategies": dict(sorted(counts.items()))}
    if row["packet_type"] == "TRANSFER":
        after["protocols"] = _count_transfer(before, row["transfer"], change)
    elif counted_eval is not None:
        after["evals"] = [*before["evals"], counted_eval]
    elif row["packet_type"] == "EVAL":
        after["evals"] = [one for one in before["evals"] if one["packet_id"] != row["packet_id"]]
    if any(after.values()):
        context.tasks.put(key, after)
    else:
        context.tasks.delete(key)
    return before, after


def _counted_eval(packet: Inbound, row: AvroValue) -> AvroValue | None:
    if packet.packet_type != "EVAL":
        return None
    metrics = packet.payload["metric_set"]
    drift = metrics["drift_risk"]
    return {
        "packet_id": packet.packet_id,
        "outcome_nano": to_nano(metrics["outcome"]),
        "drift_nano": None if drift is None else to_nano(drift),
        "gates_met": row["gates"]["met"],
    }


def _count_transfer(task: AvroValue, transfer: AvroValue, change: int) -> dict[str, AvroValue]:
    """Return the counts of the task's protocols with a TRANSFER more or less."""
    protocol = transfer["protocol_id"]
    counts_before = task["protocols"].get(protocol, _NO_TRANSFERS)
    counts = {
        "transfers": counts_before["transfers"] + change,
        "accepted": counts_before["accepted"] + change * transfer["accepted"],
        "cross": counts_before["cross"] + change * transfer["cross_use_case"],
    }
    protocols = {**task["protocols"], protocol: counts}
    if counts["transfers"] == 0:
        del protocols[protocol]
    return dict(sorted(protocols.items()))


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


def evidence_of(task: AvroValue) -> Sums:
    """Return what a task says of each of its strategies, in the order of `EVIDENCE`.

    task: ApcTask, whose EVALs are in the order in which they were counted.
    """
    if not task["evals"]:
        return _NO_EVIDENCE
    outcome, drift = _means(task)
    met = int(task["evals"][-1]["gates_met"])
    return (1, outcome or 0, met, int(drift is not None), drift or 0)


def outcome_changes(before: AvroValue, after: AvroValue) -> dict[str, Sums]:
    """Return the change of the evidence about each strategy of a task, by the key of its row."""
    old, new = evidence_of(before), evidence_of(after)
    changes = {}
    for key in dict.fromkeys((*before["strategies"], *after["strategies"])):
        had = old if key in before["strategies"] else _NO_EVIDENCE
        has = new if key in after["strategies"] else _NO_EVIDENCE
        if had != has:
            changes[key] = tuple(b - a for a, b in zip(had, has, strict=True))
    return changes


def _send_outcomes(
    before: AvroValue, after: AvroValue, row: AvroValue, event_context: EventContext
) -> None:
    """Send the change of each strategy's evidence; row: of the packet that is the reason."""
    for key, sums in outcome_changes(before, after).items():
        use_case, kind, strategy = split(key)
        delta_id = f"{event_context.event_id}/{key}"
        delta = {
            "delta_id": delta_id,
            "use_case": use_case,
            "kind": kind,
            "strategy": strategy,
            "session_id": row["session_id"],
            "run_id": row["run_id"],
            "task_id": row["task_id"],
            "packet_id": row["packet_id"],
            "at": event_context.at,
            "cause": event_context.cause,
            **dict(zip(EVIDENCE, sums, strict=True)),
        }
        event_context.send(APC_OUTCOMES, key, delta, delta_id)


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
