"""Derive what the coordination of a session refuses, from packets and from the facts before.

By the default policy: commitments are compared once a session is declared, and a halted agent only
ends or reports.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from tests.e2e.outputs import Json

AFTER_THE_END = ("ACK", "NACK", "HEARTBEAT", "RETRACTION", "ERROR")
EDGES = {
    "research_briefs_dispatched": "SESSION_OPEN",
    "all_swarms_ready": "DIFFERENTIATED_RESEARCH",
    "generation_window_open": "INDEPENDENT_DISCOVERY",
    "transfer_accepted": "SELECTIVE_TRANSFER",
    "candidate_pool_ready": "CONTROLLED_CONVERGENCE",
    "decision_committed": "ARBITRATION",
    "artifact_and_eval_emitted": "EXECUTION",
    "validation_pass": "VALIDATION",
    "validation_fail_or_drift": "VALIDATION",
    "commons_commit_complete": "PROMOTION",
}
"""The state from which each event leads on; the stop of a session leads from all that go on."""
STOP = "stop_signal_or_budget_exhausted"
COMMITTED = ("ARBITRATION", "EXECUTION", "VALIDATION", "PROMOTION")
Refused = tuple[str, str, str | None, str, str]
"""Rule, event, agent, state, and why."""


class Coordination:
    """The states of sessions and agents, as the notes of facts say, and the open vetoes."""

    def __init__(self) -> None:
        self.sessions: dict[str, str] = {}
        self._agents: dict[tuple[str, str], str] = {}
        self._vetoes: dict[str, list[tuple[str, str]]] = {}

    def note(self, fact: Json) -> None:
        """Take the steps that a fact tells."""
        for note in fact["coordination"]:
            if note["applied"] and note["agent_id"] is None:
                self.sessions[fact["session_id"]] = note["to_state"]
            elif note["applied"]:
                self._agents[fact["session_id"], note["agent_id"]] = note["to_state"]

    def accept(self, packet: Json) -> None:
        """Take what an accepted packet opens and closes."""
        self._vetoes[packet["trace"]["session_id"]] = self._vetoes_after(packet)

    def halted(self, packet: Json) -> Refused | None:
        session, agent = packet["trace"]["session_id"], packet["sender"]["agent_id"]
        if packet["packet_type"] in AFTER_THE_END:
            return None
        if self._agents.get((session, agent)) != "LOCAL_HALT":
            return None
        return "agent_halted", "", agent, "LOCAL_HALT", "no_edge"

    def refused(self, packet: Json, gates: Callable[[], bool]) -> Refused | None:
        """Return why the session refuses a packet.

        gates: whether the newest EVAL of the packet's task met them.
        """
        state = self.sessions.get(packet["trace"]["session_id"], "SESSION_OPEN")
        if packet["channel"] == "INTRA_AGENT" or state == "SESSION_OPEN":
            return None
        named = (packet.get("metadata") or {}).get("coordination_event")
        if named in EDGES or named == STOP:
            over = state in ("CLOSED", "HALTED")
            if over if named == STOP else EDGES[named] != state:
                return "coordination_event_illegal", named, None, state, "no_edge"
            if not self._guard(named, packet, gates):
                return "coordination_event_illegal", named, None, state, "guard_failed"
        commitment = _commitment(packet)
        if commitment is None:
            return None
        event, legal = commitment
        if not legal(state):
            return "session_state", event, None, state, "no_edge"
        if event == "decision_committed" and self._vetoes_after(packet):
            why = "guard_failed" if EDGES[event] == state else "no_edge"
            return "decision_vetoed", event, None, state, why
        return None

    def _guard(self, event: str, packet: Json, gates: Callable[[], bool]) -> bool:
        payload = packet["payload"]
        match event:
            case "generation_window_open":
                return bool(packet["trace"]["generation"] >= 11)
            case "transfer_accepted":
                if packet["packet_type"] != "TRANSFER":
                    return False
                sender, receiver = payload["sender_score"], payload["receiver_score"]
                above = Decimal(repr(sender)) > Decimal(repr(receiver)) * Decimal("1.2")
                return above and payload["transfer_policy"].get("top_k", 99) <= 2
            case "candidate_pool_ready":
                return len(payload.get("candidates", ())) >= 2
            case "decision_committed":
                return not self._vetoes_after(packet)
            case "validation_pass":
                return gates()
        return True

    def _vetoes_after(self, packet: Json) -> list[tuple[str, str]]:
        open_now = self._vetoes.get(packet["trace"]["session_id"], [])
        agent, payload = packet["sender"]["agent_id"], packet["payload"]
        match packet["packet_type"]:
            case "SIGNAL" if payload["signal"] == "VETO":
                return [*open_now, (agent, packet["packet_id"])]
            case "SIGNAL" if payload["signal"] == "RESUME":
                return [veto for veto in open_now if veto[0] != agent]
            case "RETRACTION":
                return [veto for veto in open_now if veto[1] != payload["target_packet_id"]]
            case "ARBITRATION":
                named = payload.get("vetoes") or []
                return [(veto["agent_id"], packet["packet_id"]) for veto in named]
        return open_now


def _commitment(packet: Json) -> tuple[str, Callable[[str], bool]] | None:
    payload, phase = packet["payload"], packet["run_phase"]
    match packet["packet_type"]:
        case "DECISION" if payload.get("commitment_level") != "PROPOSED":
            return "decision_committed", lambda state: state in COMMITTED
        case "ARBITRATION" if phase == "ARBITRATION":
            states = ("CONTROLLED_CONVERGENCE", "ARBITRATION")
            return "candidate_pool_ready", lambda state: state in states
        case "TRANSFER":
            if phase == "PROMOTION" and payload["transfer_policy"]["mode"] == "COMMONS_SEED":
                return "commons_commit_complete", lambda state: state == "PROMOTION"
            return "transfer_accepted", lambda state: state != "DIFFERENTIATED_RESEARCH"
    return None
