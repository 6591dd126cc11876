"""What the facts make of the lineage: edges, changes of sums, arbitrations, derived once more.

The account keeps the packets that count, task by task.  Whenever one comes or goes, the task's
sums are counted anew from all packets that are left in it; what differs must have been sent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import sha256

from tests.e2e.figures import named_by, task_of
from tests.e2e.outputs import Json
from tests.e2e.replay import SUNK
from tests.unit.protocols.apc.processor import sums
from tests.unit.protocols.apc.processor.fold_sessions import lived
from tests.unit.protocols.apc.processor.sums import NAMES, Sums
from topology.keys import composite

Place = tuple[str, str]


class Account:
    """deltas, arbitrations: by id, these without what depends on the totals then read.
    edges: those that are owed, by (id, cause), with their partition.
    """

    def __init__(self) -> None:
        self.deltas: dict[str, Json] = {}
        self.arbitrations: dict[str, Json] = {}
        self.edges: dict[tuple[str, str], tuple[int, Json]] = {}
        self._verdicts: dict[Place, Json] = {}
        self._ended: dict[Place, tuple[str, str]] = {}
        self._counted: dict[tuple[str, str, str], dict[str, Json]] = defaultdict(dict)

    def run(self, facts: Iterable[tuple[int, Json]]) -> None:
        """facts: in log order by partition."""
        for partition, fact in facts:
            if fact["state"] is None or not fact["packet_id"]:
                continue
            place = (fact["session_id"], fact["packet_id"])
            if fact["verdict"] in ("accepted", "rejected"):
                self._verdicts[place] = fact
                self._ended[place] = (fact["state"], fact["rule"])
                if lived(fact):
                    self._add(fact, partition)
            elif place in self._verdicts:
                if fact["transitions"]:
                    self._ended[place] = (fact["state"], fact["rule"])
                self._change(place, fact)

    def live(self) -> Iterator[Json]:
        """The packets that count in the end, as far as they bear on the lineage."""
        for members in self._counted.values():
            yield from members.values()

    def _add(self, fact: Json, partition: int) -> None:
        packet = fact["packet"]
        for edge in edges(packet):
            edge_fact = {**edge, "at": fact["at"], "cause": fact["cause"]}
            self.edges[edge["edge_id"], fact["cause"]] = (partition, edge_fact)
        if _matters(packet):
            self._count(fact, packet)
        if packet["packet_type"] == "ARBITRATION":
            self._arbitrate(fact, packet)

    def _count(self, fact: Json, packet: Json) -> None:
        kind, members = packet["packet_type"], self._counted[task_of(packet)]
        before = sums.counted(members.values())
        members[packet["packet_id"]] = packet
        changes = _differences(before, sums.counted(members.values()))
        if kind == "EVAL":
            per_protocol = {
                protocol: {**change, "packets": 0} for protocol, change in changes.items()
            }
            self._owe("eval", per_protocol, fact, packet)
            none = dict.fromkeys(NAMES, 0)
            changes = {p: {**none, "packets": change["packets"]} for p, change in changes.items()}
        self._owe("transfer" if kind == "TRANSFER" else "lineage", changes, fact, packet)

    def _change(self, place: Place, fact: Json) -> None:
        packet = self._verdicts[place]["packet"]
        if fact["state"] not in SUNK:
            return
        members = self._counted[task_of(packet)]
        if place[1] not in members:
            return
        before = sums.counted(members.values())
        del members[place[1]]
        changes = _differences(before, sums.counted(members.values()))
        self._owe("removal", changes, fact, packet)

    def _owe(self, kind: str, changes: dict[str, dict[str, int]], fact: Json, packet: Json) -> None:
        for protocol, change in changes.items():
            if any(change.values()):
                ident = f"{fact['event_id']}/{composite(protocol, kind)}"
                self.deltas[ident] = _delta(ident, kind, protocol, fact, packet) | change

    def _arbitrate(self, fact: Json, packet: Json) -> None:
        named = named_by(packet)
        refs = list(dict.fromkeys(named))
        rows = {ref: self._verdicts.get((fact["session_id"], ref)) for ref in refs}
        rows |= {ref: None for ref in refs if ref == packet["packet_id"]}
        transfers = [ref for ref in refs if _is_transfer(rows[ref])]
        if not transfers:
            return
        reasons = {ref: self._refusal(fact["session_id"], ref, rows[ref]) for ref in refs}
        ranking = [_ranked(rows[ref] or {}) for ref in transfers if reasons[ref] is None]
        ranking.sort(key=lambda row: -row["selection_score"])
        metadata = packet.get("metadata", {})
        self.arbitrations[fact["event_id"]] = {
            "session_id": fact["session_id"],
            "run_id": fact["run_id"],
            "task_id": fact["task_id"],
            "trace_id": fact["trace_id"],
            "project_id": metadata.get("project_id"),
            "arbitration_id": packet["payload"]["arbitration_id"],
            "packet_id": packet["packet_id"],
            "candidate_count": len(refs),
            "validated_count": len(ranking),
            "rejected_count": len(refs) - len(ranking),
            "rejected": [
                {"index": named.index(ref) + 1, "packet_id": ref, "reason": reason}
                for ref, reason in reasons.items()
                if reason is not None
            ],
            "ranking": ranking,
            "top_k": 1,
            "winner_candidate_id": packet["payload"]["winner_candidate_id"],
            "protocols": {ref: _protocol(rows[ref]) for ref in transfers},
            "at": fact["at"],
            "cause": fact["cause"],
            "packet": packet,
        }

    def _refusal(self, session: str, ref: str, verdict: Json | None) -> str | None:
        if verdict is None:
            return "packet_unknown"
        if verdict["packet_type"] != "TRANSFER":
            return f"packet_type_not_transfer:{verdict['packet_type']}"
        state, rule = self._ended[session, ref]
        if state == "REJECTED_POLICY":
            return f"policy_reject: {rule}"
        return f"not_live:{state}" if state in SUNK else None


def _matters(packet: Json) -> bool:
    return packet["packet_type"] in ("EVAL", "TRANSFER") or "lineage" in packet


def _differences(before: Sums, after: Sums) -> dict[str, dict[str, int]]:
    """By protocol; all is of one task, so of one run."""
    none = dict.fromkeys(NAMES, 0)
    return {
        key[0]: {n: after.get(key, none)[n] - before.get(key, none)[n] for n in NAMES}
        for key in {**before, **after}
    }


def _delta(ident: str, kind: str, protocol: str, fact: Json, packet: Json) -> Json:
    session_id, run_id, task_id = task_of(packet)
    return {
        "delta_id": ident,
        "kind": kind,
        "protocol_id": protocol,
        "session_id": session_id,
        "run_id": run_id,
        "task_id": task_id,
        "packet_id": packet["packet_id"],
        "at": fact["at"],
        "cause": fact["cause"],
        "decision": None,
    }


def _is_transfer(verdict: Json | None) -> bool:
    return verdict is not None and verdict["packet_type"] == "TRANSFER"


def _protocol(verdict: Json | None) -> str:
    assert verdict is not None
    return str(verdict["packet"]["payload"]["protocol_id"])


def _ranked(verdict: Json) -> Json:
    payload = verdict["packet"]["payload"]
    scores = {name: payload[name] for name in ("to_swarm", "sender_score", "receiver_score")}
    return {"packet_id": verdict["packet_id"], **scores, **verdict["throttle"]["selection"]}


def edges(packet: Json) -> list[Json]:
    """What an accepted packet is owed, each once."""
    made = dict.fromkeys(_edges(packet))
    return [
        {
            "edge_id": sha256("|".join(edge).encode()).hexdigest(),
            "from_node": edge[0],
            "relation": edge[1],
            "to_node": edge[2],
        }
        for edge in made
    ]


def _edges(packet: Json) -> Iterator[tuple[str, str, str]]:
    trace, payload = packet["trace"], packet["payload"]
    node = f"apc:packet:{packet['packet_id']}"
    yield node, "same_trace", f"trace:{trace['session_id']}"
    if "parent_packet_id" in trace:
        yield node, "child_of", f"apc:packet:{trace['parent_packet_id']}"
    if trace["root_packet_id"] != packet["packet_id"]:
        yield node, "part_of", f"apc:packet:{trace['root_packet_id']}"
    match packet["packet_type"]:
        case "ACK" | "NACK":
            yield node, "acknowledges", f"apc:packet:{payload['acked_packet_id']}"
        case "RETRACTION":
            target = f"apc:packet:{payload['target_packet_id']}"
            yield node, "retracts", target
            if "replacement_packet_id" in payload:
                yield f"apc:packet:{payload['replacement_packet_id']}", "replaces", target
        case "EVAL" | "ARBITRATION":
            yield from ((node, "evaluates", f"apc:packet:{ref}") for ref in named_by(packet))
    if "lineage" in packet:
        protocol = f"apc:protocol:{packet['lineage']['protocol_id']}"
        relation = "transfers" if packet["packet_type"] == "TRANSFER" else "derived_from"
        yield node, relation, protocol
        for parent in packet["lineage"].get("parent_protocol_ids", []):
            yield protocol, "derived_from", f"apc:protocol:{parent}"
