"""Every verdict once more, from the record and the facts before it, by an account of its own.

What is recorded must follow: verdict and rule from the packet, its key and the standing of the
packets it names; gates from the metrics; the acknowledgements from the answers, one by one; what
a packet did to others; and when a timer fired, that it was due and no answer in time was missed.
Whether a session is over, and who received a protocol, follows from the facts before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemas import decode
from schemas.apc import fold_ids, packet_json, validate_avro
from streams.engine.headers import iso
from streams.engine.records import Record
from tests.e2e import transfers
from tests.e2e.commitments import AFTER_THE_END, Coordination, Refused
from tests.e2e.figures import PHASES, gates_met, identity, is_unproved, ms, outcomes, task_of
from tests.e2e.known_packets import Known
from tests.e2e.outputs import PARTITIONS, Json
from topology.keys import partition_of

Place = tuple[str, str]
Expected = tuple[str, str]

ENDS = {"HALTED": "session_halted", "CLOSED": "session_closed"}
SUNK = ("REJECTED_SCHEMA", "REJECTED_POLICY", "EXPIRED", "RETRACTED")
OWED = ("accepted", "duplicate", "rejected")
OUTCOMES = {"pass": "verified", "fail": "evaluated_fail", "superseded": "superseded"}


class Replay:
    """records: the input by position.  `wrong` grows."""

    def __init__(self, records: dict[str, Record]) -> None:
        self._records = records
        self._known: dict[Place, Known] = {}
        self._at: dict[str, Known] = {}
        self._evals: dict[tuple[str, str, str], list[tuple[str, bool]]] = {}
        self._owed: list[tuple[str, str, str]] = []
        self._coordination = Coordination()
        self._receivers: dict[tuple[Any, ...], list[str]] = {}
        self.wrong: list[str] = []

    def run(self, facts: Sequence[tuple[int, Json]]) -> None:
        """facts: in log order by partition."""
        for _, fact in facts:
            if fact["verdict"] != "effect":
                self._settled()
            match fact["verdict"]:
                case "effect":
                    self._effect(fact)
                case "fired":
                    self._fired(fact)
                case _:
                    self._verdict(fact)
        self._settled()

    def _say(self, fact: Json, what: str) -> None:
        self.wrong.append(f"replay: {fact['event_id']}: {what}")

    def _same(self, fact: Json, what: str, recorded: Any, derived: Any) -> None:
        if recorded != derived:
            self._say(fact, f"{what} is {recorded}, not {derived}")

    def _settled(self) -> None:
        for cause, packet_id, rule in self._owed:
            self.wrong.append(f"replay: {cause} owes {packet_id} the effect {rule}")
        self._owed = []

    def _verdict(self, fact: Json) -> None:
        record = self._records.get(fact["cause"])
        if record is None:
            self._say(fact, "no record lies at its cause")
            return
        value = decode(record.value, "headrace.apc.ApcPacket").value
        packet = fold_ids(packet_json(value))
        verdict, rule, has_row = self._judged(record, value, packet, fact)
        self._same(fact, "verdict", (fact["verdict"], fact["rule"]), (verdict, rule))
        self._same(fact, "at", ms(fact["at"]), record.timestamp)
        if not has_row or fact["state"] is None:
            self._same(fact, "state", fact["state"], None)
            return
        self._same(fact, "packet", fact["packet"], packet)
        known = Known(packet, fact, identity(packet))
        self._same(fact, "identity_hash", fact["identity_hash"], known.identity)
        place = (packet["trace"]["session_id"], packet["packet_id"])
        if verdict == fact["verdict"] == "accepted":
            self._accepted(fact, record, known)
        self._known[place] = self._at[known.position] = known

    def _judged(
        self, record: Record, value: Json, packet: Json, fact: Json
    ) -> tuple[str, str, bool]:
        """Verdict, rule, and whether the packet gets a row."""
        session = packet["trace"]["session_id"]
        key = session.encode()
        if record.key != key:
            return "rejected", "key_mismatch", False
        if record.partition != partition_of(key, PARTITIONS):
            return "rejected", "partition_mismatch", False
        problems = validate_avro(value, packet)
        for problem in problems:
            if problem.path in ("/packet_id", "/trace/session_id"):
                return "rejected", problem.rule, False
        known = self._known.get((session, packet["packet_id"]))
        if known is not None:
            same = known.identity == identity(packet)
            return (
                ("duplicate", "duplicate", False) if same else _rejected("packet_conflict", False)
            )
        if problems:
            listed = [(p.rule, p.path) for p in problems[:10]]
            self._same(fact, "errors", [(e["rule"], e["path"]) for e in fact["errors"]], listed)
            return _rejected(problems[0].rule)
        return self._policy(record, packet, fact)

    def _policy(self, record: Record, packet: Json, fact: Json) -> tuple[str, str, bool]:
        kind, checks = packet["packet_type"], (packet.get("metadata") or {}).get("anti_drift")
        drift: Json = {"evaluated": checks is not None, "checks": checks or {}}
        phases = PHASES.get(kind)
        over = ENDS.get(self._coordination.sessions.get(packet["trace"]["session_id"], ""))
        if over is not None and kind not in AFTER_THE_END:
            return _rejected(over)
        if halted := self._coordination.halted(packet):
            return self._refused(halted, fact)
        if phases is not None and packet["run_phase"] not in phases.split():
            return _rejected("phase_type")
        if is_unproved(packet):
            return _rejected("proof_empty")
        if not all(drift["checks"].values()):
            self._same(fact, "anti_drift", fact["anti_drift"], drift)
            return _rejected("drift_check_failed")
        if kind == "TRANSFER":
            return self._transfer(packet, fact)
        if kind == "ARBITRATION":
            named = [one["candidate_id"] for one in packet["payload"]["candidates"]]
            if packet["payload"]["winner_candidate_id"] not in named:
                return _rejected("unknown_winner")
        violation = self._broken(record, packet)
        if violation == "already_retracted":
            return "duplicate", violation, False
        self._same(fact, "anti_drift", fact["anti_drift"], drift)
        return _rejected(violation) if violation else self._committed(packet, fact)

    def _committed(self, packet: Json, fact: Json) -> tuple[str, str, bool]:
        """The verdict on a packet that breaks no other rule."""
        refused = self._coordination.refused(packet, lambda: self._newest_met(packet))
        return self._refused(refused, fact) if refused else ("accepted", "accepted", True)

    def _newest_met(self, packet: Json) -> bool:
        if packet["packet_type"] == "EVAL":
            return gates_met(packet["payload"]["metric_set"])
        counted = self._evals.get(task_of(packet))
        return bool(counted and counted[-1][1])

    def _refused(self, refused: Refused, fact: Json) -> tuple[str, str, bool]:
        rule, event, *expected = refused
        notes = [
            (note["event"] if event else "", note["agent_id"], note["from_state"], note["why"])
            for note in fact["coordination"]
        ]
        self._same(fact, "notes", notes, [(event, *expected)])
        return _rejected(rule)

    def _transfer(self, packet: Json, fact: Json) -> tuple[str, str, bool]:
        receivers = self._receivers.setdefault(transfers.place_of(packet), [])
        throttle = fact["throttle"]
        lived = fact["state"] != "EXPIRED" and fact["rule"] != "session_state"
        lived = lived and fact["rule"] != "coordination_event_illegal"
        if throttle is None:
            self._say(fact, "it has no throttle")
            return "accepted", "accepted", True
        for difference in transfers.differences(packet, receivers, throttle, lived):
            self._say(fact, difference)
        blocked = throttle["decay"]["blocked"]
        self._same(fact, "decay.mode", throttle["decay"]["mode"], "late")
        violation = transfers.violated_rule(transfers.checks(packet, receivers, blocked))
        self._same(
            fact, "warning", "protocol_decayed" in fact["warnings"], blocked and violation is None
        )
        return _rejected(violation) if violation else self._committed(packet, fact)

    def _broken(self, record: Record, packet: Json) -> str | None:
        """The rule that an answer or a retraction breaks by what it names."""
        kind, sender = packet["packet_type"], packet["sender"]
        if kind not in ("ACK", "NACK", "RETRACTION"):
            return None
        target = self._target(packet)
        if target is None:
            return "retraction_target_unknown" if kind == "RETRACTION" else "ack_target_unknown"
        if target.state == "ROUTED" and record.timestamp >= ms((target.acks or {})["deadline_at"]):
            self.wrong.append(f"replay: {target.position} was overdue and did not expire")
        if kind != "RETRACTION":
            return None if sender["agent_id"] in target.agents else "ack_not_recipient"
        if target.packet["packet_type"] == "RETRACTION":
            return "retraction_of_retraction"
        theirs = target.packet["sender"]
        if all(sender[name] != theirs[name] for name in ("agent_id", "swarm_id")):
            return "retraction_not_owner"
        return "already_retracted" if target.state == "RETRACTED" else None

    def _target(self, packet: Json) -> Known | None:
        payload = packet["payload"]
        named = payload.get("acked_packet_id") or payload.get("target_packet_id")
        return self._known.get((packet["trace"]["session_id"], named))

    def _accepted(self, fact: Json, record: Record, known: Known) -> None:
        packet, routing = known.packet, known.packet["routing"]
        deadline = record.timestamp + routing["ttl_ms"]
        if "expires_at" in packet:
            deadline = min(deadline, ms(packet["expires_at"]))
        if packet["packet_type"] == "EVAL":
            met = gates_met(packet["payload"]["metric_set"])
            self._same(fact, "gates.met", fact["gates"]["met"], met)
        if deadline <= record.timestamp:
            self._same(fact, "state", fact["state"], "EXPIRED")
            self._same(fact, "acks", fact["acks"], None)
            return
        acks = fact["acks"]
        timeout = routing.get("ack_timeout_ms") if routing["requires_ack"] else None
        due = None if timeout is None else record.timestamp + timeout
        self._same(fact, "recipients", acks["recipients"], known.agents)
        self._same(
            fact, "pending", acks["pending"], known.agents if routing["requires_ack"] else []
        )
        self._same(fact, "deadline", ms(acks["deadline_at"]), deadline)
        self._same(fact, "ack_due_at", acks["ack_due_at"] and ms(acks["ack_due_at"]), due)
        state = "ROUTED" if routing["requires_ack"] else self._applied(known)
        self._same(fact, "state", fact["state"], state)
        self._check_promotion(fact, known)
        self._expect_effects(fact, record, known)
        self._coordination.note(fact)
        self._coordination.accept(packet)
        if packet["packet_type"] == "TRANSFER":
            receivers = self._receivers[transfers.place_of(packet)]
            if packet["payload"]["to_swarm"] not in receivers:
                receivers.append(packet["payload"]["to_swarm"])

    def _applied(self, known: Known) -> str:
        """Where a packet stands when it has been applied."""
        if not known.deferred or known.outcome[0] in ("pass", "superseded"):
            return "ARCHIVED"
        return "REJECTED_POLICY" if known.outcome[0] == "fail" else "APPLIED"

    def _expect_effects(self, fact: Json, record: Record, known: Known) -> None:
        packet = known.packet
        match packet["packet_type"]:
            case "ACK" | "NACK":
                target = self._target(packet)
                assert target is not None
                self._expect_answer(fact, record, packet, target)
            case "RETRACTION":
                self._owe(fact, packet["payload"]["target_packet_id"], "retracted")
            case "EVAL":
                met = gates_met(packet["payload"]["metric_set"])
                self._evals.setdefault(task_of(packet), []).append((packet["packet_id"], met))
                self._expect_outcomes(fact, packet)
            case "ARBITRATION":
                self._expect_outcomes(fact, packet)

    def _expect_answer(self, fact: Json, record: Record, packet: Json, target: Known) -> None:
        status, agent = packet["payload"]["ack_status"], packet["sender"]["agent_id"]
        if target.state != "ROUTED":
            if target.ended_due > record.timestamp:
                self._say(fact, f"came before the timer of {target.position} was due")
            self._same(fact, "warning", "ack_without_effect" in fact["warnings"], True)
            return
        assert target.acks is not None
        left = [one for one in target.acks["pending"] if one != agent]
        if agent not in target.acks["pending"]:
            self._same(fact, "warning", "ack_repeated" in fact["warnings"], True)
            return
        if packet["packet_type"] == "NACK" or status == "REJECTED":
            rule = "recipient_refused"
        elif status == "DEFERRED":
            rule = "ack_deferred"
        else:
            rule = "ack_recorded" if left else "delivered"
        self._owe(fact, target.packet["packet_id"], rule)

    def _owe(self, fact: Json, packet_id: str, rule: str) -> None:
        self._owed.append((fact["cause"], packet_id, rule))

    def _expect_outcomes(self, fact: Json, packet: Json) -> None:
        for packet_id, outcome in outcomes(packet):
            target = self._known.get((packet["trace"]["session_id"], packet_id))
            if target is None:
                self._same(fact, "warning", "verification_target_unknown" in fact["warnings"], True)
            elif target.deferred and target.state in ("ROUTED", "APPLIED"):
                is_routed = target.state == "ROUTED"
                target.outcome = (outcome, packet["packet_id"])
                self._owe(fact, packet_id, "outcome_kept" if is_routed else OUTCOMES[outcome])

    def _effect(self, fact: Json) -> None:
        expected = self._owed.pop(0) if self._owed else None
        effect = (fact["cause"], fact["packet_id"], fact["rule"])
        self._same(fact, "effect", effect, expected)
        known = self._known.get((fact["session_id"], fact["packet_id"]))
        if known is not None and expected == effect:
            self._same(fact, "acks", fact["acks"], self._answered(fact, known))
            self._same(fact, "state", fact["state"], self._moved(fact["rule"], known))
            verification = fact["verification"]
            self._same(
                fact, "outcome", (verification["outcome"], verification["by"]), known.outcome
            )
            self._check_promotion(fact, known)
            self._take(known, fact)

    def _answered(self, fact: Json, known: Known) -> Json | None:
        """The acknowledgements after this effect."""
        rule, before = fact["rule"], known.acks
        if before is None or known.state != "ROUTED" or rule == "outcome_kept":
            return before
        after = dict(before)
        packet = self._at[fact["cause"]].packet if fact["cause"] in self._at else {}
        if rule in ("ack_recorded", "delivered"):
            accepted_agents = [*before["accepted"], packet["sender"]["agent_id"]]
            after["accepted"] = [a for a in before["recipients"] if a in accepted_agents]
            after["pending"] = [a for a in before["pending"] if a not in accepted_agents]
        if rule in ("delivered", "recipient_refused", "retracted"):
            after["ack_due_at"] = None
        if rule == "ack_deferred" and before["ack_due_at"] is not None:
            due = ms(fact["at"]) + known.packet["routing"]["ack_timeout_ms"]
            after["ack_due_at"] = iso(due).decode()
        return after

    def _moved(self, rule: str, known: Known) -> str:
        match rule:
            case "recipient_refused" | "evaluated_fail":
                return "REJECTED_POLICY"
            case "retracted":
                return "RETRACTED"
            case "delivered":
                return self._applied(known)
            case "verified" | "superseded":
                return "ARCHIVED"
            case _:
                return "ROUTED"

    def _check_promotion(self, fact: Json, known: Known) -> None:
        events = [transition["event"] for transition in fact["transitions"]]
        if "verification_pass" in events:
            self._same(fact, "promoted", "promotion_eligible" in events, self._promotable(known))

    def _promotable(self, known: Known) -> bool:
        packet = known.packet
        if packet["packet_type"] == "EVAL":
            return self._newest_met(packet)
        return packet["packet_type"] == "DECISION" and self._newest_met(packet)

    def _take(self, known: Known, fact: Json) -> None:
        known.state, known.acks = fact["state"], fact["acks"]
        if known.state in SUNK and known.packet["packet_type"] == "EVAL":
            task, packet_id = task_of(known.packet), known.packet["packet_id"]
            counted = self._evals.get(task, [])
            self._evals[task] = [one for one in counted if one[0] != packet_id]

    def _fired(self, fact: Json) -> None:
        self._coordination.note(fact)
        known = self._at.get(fact["cause"])
        if known is None or known.state != "ROUTED" or known.acks is None:
            self._say(fact, "a timer fired for a packet that did not wait")
            return
        acks, at, due = known.acks, ms(fact["at"]), ms(fact["due_at"])
        late = fact["rule"] == "ttl_expired"
        armed = acks["deadline_at"] if late else acks["ack_due_at"]
        suffix = "ttl" if late else f"ack/{acks['attempt']}"
        self._same(fact, "event_id", fact["event_id"], f"{known.position}/{suffix}")
        self._same(fact, "due_at", due, armed and ms(armed))
        self._same(fact, "overdue", at >= ms(acks["deadline_at"]), late)
        if at < due:
            self._say(fact, "it fired early")
        routing = known.packet["routing"]
        if not late:
            again = acks["attempt"] <= routing.get("retry_limit", 0)
            self._same(fact, "rule", fact["rule"], "redelivered" if again else "ack_timeout")
        if fact["rule"] == "redelivered":
            acks_now = fact["acks"]
            after = (acks["attempt"] + 1, at + routing["ack_timeout_ms"], acks["pending"])
            recorded = (acks_now["attempt"], ms(acks_now["ack_due_at"]), acks_now["pending"])
            self._same(fact, "redelivery", recorded, after)
        else:
            self._same(fact, "state", fact["state"], "EXPIRED")
            known.ended_due = due
        self._take(known, fact)


def _rejected(rule: str, has_row: bool = True) -> tuple[str, str, bool]:
    return "rejected", rule, has_row
