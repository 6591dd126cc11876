"""What a run must have left of lineage: exactly the packets that count, exactly once.

Three accounts have to agree: the rows on the log, the deltas one by one, and the packets that
count in the end, counted from nothing.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from tests.e2e.account import Account
from tests.e2e.figures import gates_met, task_of
from tests.e2e.findings import differences, repeated
from tests.e2e.history import History
from tests.e2e.outputs import PARTITIONS, Json
from tests.e2e.replay import SUNK
from tests.e2e.totals import NANO, Totals, gate_reason
from tests.e2e.transfers import exact
from tests.unit.protocols.apc.processor import sums
from tests.unit.protocols.apc.processor.fold_sessions import lived
from topology.keys import composite, partition_of

_EVIDENCE = ("attempts", "outcome_sum_nano", "gates_met", "drift_weight", "drift_sum_nano")


def lineage(history: History) -> Iterator[str]:
    """Everything that is wrong with it."""
    account, totals = Account(), Totals()
    account.run(history.facts)
    totals.run(history.deltas)
    yield from task_rows(history)
    yield from priors_counted(history)
    yield from totals_counted(history)
    yield from differences("lineage row", history.lineage, totals.rows)
    yield from deltas_once(history, account)
    yield from edges_once(history, account)
    yield from decisions_follow(history, account, totals)
    yield from figures_seen(history, totals)


def _live(history: History) -> Iterator[Json]:
    """The packets that count in the end, in log order by partition."""
    for _, fact in history.facts:
        row = history.states.get(composite(fact["session_id"], fact["packet_id"] or ""))
        if lived(fact) and row is not None and row["state"] not in SUNK:
            yield fact["packet"]


def totals_counted(history: History) -> Iterator[str]:
    """Total and run rows, and the sum of all deltas, are what the counted packets add up to."""
    live = list(_live(history))
    runs = {composite(*key): row for key, row in sums.counted(live).items()}
    expected = dict(runs)
    for (protocol, _), row in sums.counted(live).items():
        before = expected.get(composite(protocol), dict.fromkeys(sums.NAMES, 0))
        expected[composite(protocol)] = {name: before[name] + row[name] for name in sums.NAMES}
    counts = {key: {n: row[n] for n in sums.NAMES} for key, row in history.lineage.items()}
    yield from differences(
        "count of", {k: v for k, v in counts.items() if any(v.values())}, expected
    )
    added = sums.summed(history.deltas.values())
    yield from differences("sum of deltas of", {composite(*k): v for k, v in added.items()}, runs)


def task_rows(history: History) -> Iterator[str]:
    """`apc-tasks` lists the EVALs, TRANSFERs and strategies that count."""
    expected: dict[str, Json] = defaultdict(
        lambda: {"evals": [], "protocols": {}, "strategies": {}}
    )
    for packet in _live(history):
        kind, key = packet["packet_type"], composite(*task_of(packet))
        named = packet.get("lineage", {})
        if kind == "EVAL":
            expected[key]["evals"].append(_counted_eval(packet))
        if kind == "TRANSFER":
            none = {"transfers": 0, "accepted": 0, "cross": 0}
            counts = expected[key]["protocols"].setdefault(named["protocol_id"], none)
            counts["transfers"] += 1
            counts["accepted"] += packet["payload"].get("accepted", False)
            counts["cross"] += named.get("cross_use_case", False)
        for strategy in _tried_by(packet):
            counts = expected[key]["strategies"]
            counts[strategy] = counts.get(strategy, 0) + 1
    yield from differences("task row", history.task_facts, expected)


def _tried_by(packet: Json) -> Iterator[str]:
    """The keys of the strategies that a packet tries."""
    metadata = packet.get("metadata", {})
    use_case = metadata.get("use_case") or metadata.get("project_id") or "-"
    if packet["packet_type"] == "IDEA":
        yield composite(use_case, "method", packet["payload"]["method_id"])
    if packet.get("lineage"):
        yield composite(use_case, "protocol", packet["lineage"]["protocol_id"])


def priors_counted(history: History) -> Iterator[str]:
    """`apc.priors` has the attempts of each strategy, as the packets that count make them."""
    tasks: dict[str, list[Json]] = defaultdict(list)
    for packet in _live(history):
        tasks[composite(*task_of(packet))].append(packet)
    expected: dict[str, Json] = {}
    for members in tasks.values():
        evals = [_counted_eval(one) for one in members if one["packet_type"] == "EVAL"]
        drifts = [one["drift_nano"] for one in evals if one["drift_nano"] is not None]
        for key in {key for one in members for key in _tried_by(one)} if evals else ():
            before = expected.get(key, dict.fromkeys(_EVIDENCE, 0))
            outcome = _rounded_mean([one["outcome_nano"] for one in evals])
            drift = _rounded_mean(drifts) if drifts else 0
            evidence = (1, outcome, int(evals[-1]["gates_met"]), int(bool(drifts)), drift)
            pairs = zip(_EVIDENCE, evidence, strict=True)
            expected[key] = {name: before[name] + number for name, number in pairs}
    rows = {key: {n: row[n] for n in _EVIDENCE} for key, row in history.priors.items()}
    counted = {key: row for key, row in rows.items() if any(row.values())}
    yield from differences("prior", counted, expected)


def _rounded_mean(numbers: list[int]) -> int:
    return round(Fraction(sum(numbers), len(numbers)))


def _counted_eval(packet: Json) -> Json:
    metrics = packet["payload"]["metric_set"]
    drift = metrics.get("drift_risk")
    return {
        "packet_id": packet["packet_id"],
        "outcome_nano": round(exact(metrics["outcome"]) * NANO),
        "drift_nano": None if drift is None else round(exact(drift) * NANO),
        "gates_met": gates_met(metrics),
    }


def deltas_once(history: History, account: Account) -> Iterator[str]:
    """Each change of a sum was sent once, and nothing else was."""
    for position, delta in history.deltas.items():
        home = partition_of(delta["protocol_id"].encode(), PARTITIONS)
        if position.split("/")[1] != str(home):
            yield f"delta {delta['delta_id']} lies at {position}"
    yield from repeated("delta", (delta["delta_id"] for delta in history.deltas.values()))
    deltas = {d["delta_id"]: d for d in history.deltas.values() if d["decision"] is None}
    yield from differences("delta", deltas, account.deltas)
    yield from (f"a dead letter at {letter.offset} of deltas" for letter in history.dead_deltas)


def edges_once(history: History, account: Account) -> Iterator[str]:
    """Each accepted packet drew each of its edges once, on its own partition; so did each task
    that an agent reported, when it was new.
    """
    places = [(edge["edge_id"], edge["cause"]) for _, edge in history.edges]
    yield from repeated("edge", places)
    by_place = dict(zip(places, history.edges, strict=True))
    of_tasks = {
        place: drawn for place, drawn in by_place.items() if drawn[1]["cause"] in history.raw
    }
    packets = {place: drawn for place, drawn in by_place.items() if place not in of_tasks}
    yield from differences("edge", packets, account.edges)
    nodes = {place: (edge["from_node"], edge["to_node"]) for place, (_, edge) in of_tasks.items()}
    yield from differences("edge of a task", nodes, _task_edges(history))


def _task_edges(history: History) -> dict[tuple[str, str], tuple[str, str]]:
    """Of the first record of each task: it is part of its session."""
    expected: dict[tuple[str, str], tuple[str, str]] = {}
    known = set()
    for one in history.observed:
        task = one["session_id"], one["task_id"]
        if one["origin"] is None and task not in known:
            known.add(task)
            ends = f"saop:task:{one['task_id']}", f"saop:session:{one['session_id']}"
            ident = hashlib.sha256(f"{ends[0]}|part_of|{ends[1]}".encode()).hexdigest()
            expected[ident, one["cause"]] = ends
    return expected


def decisions_follow(history: History, account: Account, totals: Totals) -> Iterator[str]:
    """A decision for each change of a protocol's standing and for each arbitration of transfers."""
    yield from repeated("decision", (one["decision_id"] for one in history.decisions))
    decays = {one["decision_id"]: one for one in history.decisions if one["kind"] == "decay"}
    expected = {one["decision_id"]: one for one in totals.decisions}
    yield from differences("decision", decays, expected)
    arbitrations = {one["decision_id"]: one for one in history.decisions if one["arbitration"]}
    sent = {d["decision"]["decision_id"]: d["decision"] for d in _arbitrations(history)}
    yield from differences("arbitration", arbitrations, sent)
    yield from repeated("arbitration", (d["cause"] for d in _arbitrations(history)))
    for ident in account.arbitrations.keys() - sent.keys():
        yield f"arbitration {ident} is missing"
    for delta in _arbitrations(history):
        ident = delta["decision"]["decision_id"]
        if ident not in account.arbitrations:
            yield f"arbitration {ident} has no facts"
        else:
            yield from _arbitrated(delta, account.arbitrations[ident], totals)


def _arbitrations(history: History) -> list[Json]:
    return [delta for delta in history.deltas.values() if delta["decision"] is not None]


def _arbitrated(delta: Json, expected: Json, totals: Totals) -> Iterator[str]:
    """What was blocked is what some totals of its protocol block; the rest follows."""
    decision = delta["decision"]
    arbitration, ident = decision["arbitration"], decision["decision_id"]
    blocked = {one["packet_id"]: one["reason"] for one in arbitration["blocked"]}
    protocols = expected["protocols"]
    for packet_id, reason in blocked.items():
        if reason not in _reasons(protocols[packet_id], totals):
            yield f"arbitration {ident} blocks for {reason}, which never held"
    decayed = [one for one, why in blocked.items() if why.startswith("protocol_decay_blocked")]
    ranked = [row["packet_id"] for row in expected["ranking"]]
    first = [one for one in ranked if one not in decayed][: expected["top_k"]]
    selected = [one for one in first if one not in blocked]
    packet = expected["packet"]
    candidates = {c["candidate_id"]: c["packet_ref_ids"] for c in packet["payload"]["candidates"]}
    agrees = any(one in selected for one in candidates[expected["winner_candidate_id"]])
    excluded = ("packet", "protocols", "at", "cause")
    follows = {
        **{name: member for name, member in expected.items() if name not in excluded},
        "selected_packet_ids": selected,
        "selected_count": len(selected),
        "blocked": arbitration["blocked"],
        "blocked_count": len(blocked),
        "decay_blocked_count": len(decayed),
        "winner_agrees": agrees,
    }
    if not blocked.keys() <= {*decayed, *first} or not set(decayed) <= set(ranked):
        yield f"arbitration {ident} blocks what it did not choose"
    yield from differences("arbitration", {ident: arbitration}, {ident: follows})
    protocol = protocols[(*selected, *ranked, *protocols)[0]]
    named = (decision["protocol_id"], decision["at"], decision["cause"], delta["protocol_id"])
    if named != (protocol, expected["at"], expected["cause"], protocol):
        yield f"arbitration {ident} is of {named}"
    if delta["delta_id"] != f"{ident}/{composite(protocol, 'arbitration')}":
        yield f"arbitration {ident} came as {delta['delta_id']}"


def _reasons(protocol: str, totals: Totals) -> set[str]:
    """Every reason for which an arbitration may ever have blocked a transfer of it."""
    blocking_reasons = set()
    for row in totals.versions.get(protocol, []):
        if row["blocked"]:
            codes = "+".join(row["blocked_reasons"])
            blocking_reasons.add(f"protocol_decay_blocked:{protocol}:{codes}")
        score = gate_reason(row)
        if score is not None:
            blocking_reasons.add(f"protocol_effectiveness_gate_blocked:{protocol}:{score}")
    return blocking_reasons


def figures_seen(history: History, totals: Totals) -> Iterator[str]:
    """The totals that a verdict on a TRANSFER shows were those of its protocol at that version."""
    for _, fact in history.facts:
        if fact["throttle"] is None:
            continue
        decay = fact["throttle"]["decay"]
        versions = totals.versions.get(fact["packet"]["payload"]["protocol_id"], [])
        version = decay["lineage_version"]
        row = versions[version - 1] if 0 < version <= len(versions) else None
        members = {name: decay[name] for name in decay if name not in ("mode", "lineage_version")}
        if members != _shown(row) or version > len(versions):
            yield f"{fact['event_id']} saw totals of version {version}, which never were"


def _shown(row: Json | None) -> Json:
    return {
        "blocked": row is not None and row["blocked"],
        "reasons": [] if row is None else row["blocked_reasons"],
        "transfer_count": 0 if row is None else row["transfers"],
        "effectiveness_score": 0 if row is None else row["effectiveness_score"],
        "avg_drift_risk": None if row is None else row["avg_drift_risk"],
    }


CHECKS = (lineage,)
