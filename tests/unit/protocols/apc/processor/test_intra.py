"""What moves an agent: the table of the protocol, and the packet it waits for."""

from __future__ import annotations

import pytest

from tests.unit.protocols.apc.processor.packets import (
    Bench,
    Json,
    ack,
    packet,
    pid,
    retraction,
    transfer,
)
from tests.unit.protocols.apc.processor.sessions import (
    AGENT,
    AGENT_STATES,
    AGENT_STEPS,
    agent_in,
    local,
    named,
    of_agent,
    signal,
    young,
)
from topology.machine import ANY
from topology.machines.apc_intra import MACHINE, IntraEvent

EVENTS = [str(event) for event in IntraEvent]


def test_the_plain_way() -> None:
    bench = Bench()
    for state, step in AGENT_STEPS:
        (note,) = (n for n in of_agent(bench.verdict(step)) if n[3] == "applied")
        assert note[1] == state
    row = bench.coordination(AGENT)
    assert (row["state"], row["awaiting_packet_id"]) == ("WAIT_FOR_ACK", pid(927))
    assert (row["machine"], row["agent_id"], row["version"]) == ("intra", AGENT, 7)
    assert [note["event"] for note in row["history"]] == [
        "task_assigned",
        "context_complete",
        "idea_packet_ready",
        "critique_pass",
        "artifact_local_ready",
        "local_checks_pass",
        "packet_emitted",
    ]


@pytest.mark.parametrize("state", AGENT_STATES)
@pytest.mark.parametrize("event", EVENTS)
def test_an_event_that_a_packet_names(state: str, event: str) -> None:
    bench = agent_in(state)
    fact = bench.verdict(young(named(1, event, sender=AGENT)))
    note, *following = of_agent(fact)
    target = MACHINE.edges.get((state, event)) or MACHINE.edges.get((ANY, event))
    if target is None or state == "LOCAL_HALT":
        assert note == (event, state, None, "no_edge")
        assert following == []
    else:
        assert note == (event, state, str(target), "applied")
        # the packet asks for no acknowledgement, so whoever waits for it has what it waits for
        at_once = [("ack_accepted", "WAIT_FOR_ACK", "LOCAL_IDLE", "applied")]
        assert following == (at_once if event == "packet_emitted" else [])
        assert bench.coordination(AGENT)["awaiting_packet_id"] is None


@pytest.mark.parametrize("state", AGENT_STATES)
@pytest.mark.parametrize(
    ("made", "raised"),
    [
        (packet("ERROR", 1, sender=AGENT, payload={"retryable": False}), True),
        (packet("ERROR", 1, sender=AGENT, payload={"retryable": True}), False),
        (packet("ERROR", 1, sender="boss", to=(AGENT,), payload={"retryable": False}), False),
        (signal(1, "CANCEL", sender="boss", to=("x", AGENT)), True),
        (signal(1, "CANCEL", sender=AGENT, to=("x",)), False),
        (local("SIGNAL", 1, sender=AGENT, payload={"signal": "CANCEL"}), True),
        (packet("HEARTBEAT", 1, sender="boss", to=(AGENT,), payload={"signal": "CANCEL"}), False),
    ],
)
def test_cancel_and_error_halt_an_agent_wherever_it_is(
    state: str, made: Json, raised: bool
) -> None:
    notes = of_agent(agent_in(state).verdict(made))
    why = "no_edge" if state == "LOCAL_HALT" else "applied"
    to = None if state == "LOCAL_HALT" else "LOCAL_HALT"
    assert notes == ([("cancel_or_error", state, to, why)] if raised else [])


def test_a_task_is_assigned_to_each_recipient_once() -> None:
    bench = Bench()
    fact = bench.verdict(young(packet("TASK_IR", 1, sender="boss", to=("a", "b", "a"))))
    assert [note[2] for agent in "ab" for note in of_agent(fact, agent)] == ["CONTEXT_SYNC"] * 2
    assert of_agent(fact, "boss") == [("packet_emitted", "LOCAL_IDLE", None, "no_edge")]


def test_a_task_to_oneself_is_ones_own() -> None:
    fact = Bench().verdict(young(local("TASK_IR", 1, sender="a", to=("b",))))
    assert of_agent(fact, "a") == [("task_assigned", "LOCAL_IDLE", "CONTEXT_SYNC", "applied")]
    assert of_agent(fact, "b") == []


def test_the_named_event_is_the_senders_and_others_have_theirs() -> None:
    members: Json = {"metadata": {"coordination_event": "task_assigned"}}
    fact = Bench().verdict(young(packet("TASK_IR", 1, sender="boss", to=("boss", "a"), **members)))
    assert of_agent(fact, "boss")[0] == (
        "task_assigned",
        "LOCAL_IDLE",
        "CONTEXT_SYNC",
        "applied",
    )
    assert [note[0] for note in of_agent(fact, "boss")] == ["task_assigned", "packet_emitted"]
    assert len(of_agent(fact, "a")) == 1


# The state, a packet that does not move an agent there, and whether it is noted.
@pytest.mark.parametrize(
    ("state", "made", "noted"),
    [
        ("CONTEXT_SYNC", signal(1, "SYNC", sender=AGENT), False),
        ("CONTEXT_SYNC", local("SIGNAL", 1, sender=AGENT, payload={"signal": "QUERY"}), False),
        ("SELF_CRITIQUE", local("IDEA", 1, sender=AGENT), True),
        ("LOCAL_BUILD", local("EVAL", 1, sender=AGENT), True),
        ("PUBLISH", local("DECISION", 1, sender=AGENT), False),
        ("PUBLISH", packet("HEARTBEAT", 1, sender=AGENT), False),
        ("PUBLISH", packet("ERROR", 1, sender=AGENT), False),
    ],
)
def test_what_leaves_an_agent_where_it_is(state: str, made: Json, noted: bool) -> None:
    bench = agent_in(state)
    version = bench.coordination(AGENT)["version"]
    notes = of_agent(bench.verdict(young(made)))
    assert bool(notes) is noted
    assert {note[3] for note in notes} <= {"no_edge"}
    row = bench.coordination(AGENT)
    assert (row["state"], row["version"]) == (state, version)


@pytest.mark.parametrize(
    ("state", "made", "event", "to"),
    [
        ("SELF_CRITIQUE", {"confidence_pre": 0.6, "confidence_post": 0.6}, "critique_pass", None),
        (
            "SELF_CRITIQUE",
            {"confidence_pre": 0.6, "confidence_post": 0.59},
            "critique_fail",
            "IDEA_SYNTHESIS",
        ),
        ("LOCAL_VERIFY", {"pass": True}, "local_checks_pass", None),
        ("LOCAL_VERIFY", {"pass": False}, "local_checks_fail", "IDEA_SYNTHESIS"),
    ],
)
def test_critique_and_checks(state: str, made: Json, event: str, to: str | None) -> None:
    packet_type = "CLAIM" if state == "SELF_CRITIQUE" else "EVAL"
    fact = agent_in(state).verdict(young(local(packet_type, 1, sender=AGENT, payload=made)))
    (note,) = of_agent(fact)
    assert (note[0], note[3]) == (event, "applied")
    assert to is None or note[2] == to


PUBLISHED = ["TASK_IR", "IDEA", "CLAIM", "ARTIFACT", "EVAL", "TRANSFER", "ARBITRATION", "DECISION"]


@pytest.mark.parametrize("packet_type", PUBLISHED)
def test_a_publication_that_asks_for_nothing_brings_the_agent_to_rest(packet_type: str) -> None:
    bench = agent_in("PUBLISH")
    made = transfer(1, sender=AGENT) if packet_type == "TRANSFER" else None
    fact = bench.verdict(made or young(packet(packet_type, 1, sender=AGENT)))
    notes = [note for note in of_agent(fact) if note[3] == "applied"]
    assert notes == [
        ("packet_emitted", "PUBLISH", "WAIT_FOR_ACK", "applied"),
        ("ack_accepted", "WAIT_FOR_ACK", "LOCAL_IDLE", "applied"),
    ]
    assert bench.coordination(AGENT)["awaiting_packet_id"] is None


def test_all_acknowledgements_bring_the_agent_to_rest() -> None:
    bench = agent_in("WAIT_FOR_ACK")
    assert of_agent(bench.verdict(young(ack(1, 927, "a")))) == []
    fact = bench.verdict(young(ack(2, 927, "b")))
    assert of_agent(fact) == [("ack_accepted", "WAIT_FOR_ACK", "LOCAL_IDLE", "applied")]
    assert bench.coordination(AGENT)["awaiting_packet_id"] is None


@pytest.mark.parametrize(
    "made",
    [
        ack(1, 927, "a", "REJECTED"),
        ack(1, 927, "a", "DEFERRED"),
        ack(1, 927, "a", "ACCEPTED", nack=True),
    ],
)
def test_a_refusal_or_deferral_sends_the_agent_back(made: Json) -> None:
    bench = agent_in("WAIT_FOR_ACK")
    event = "ack_rejected_or_deferred"
    assert of_agent(bench.verdict(young(made))) == [
        (event, "WAIT_FOR_ACK", "IDEA_SYNTHESIS", "applied")
    ]
    later = of_agent(bench.verdict(young(ack(2, 927, "b", "REJECTED"))))
    assert later == []


def expired_note(fact: Json) -> None:
    assert fact["verdict"] == "fired"
    assert of_agent(fact) == [
        ("ack_rejected_or_deferred", "WAIT_FOR_ACK", "IDEA_SYNTHESIS", "applied")
    ]


def test_expiry_by_its_timer_sends_the_agent_back() -> None:
    bench = agent_in("WAIT_FOR_ACK")
    (fact,) = bench.facts(bench.advance_to(bench.now + 30_000))
    expired_note(fact)
    row = bench.coordination(AGENT)
    assert (row["state"], row["awaiting_packet_id"]) == ("IDEA_SYNTHESIS", None)


def test_expiry_found_by_a_late_answer_sends_the_agent_back_once() -> None:
    bench = agent_in("WAIT_FOR_ACK")
    fired, verdict = bench.facts(bench.decide_json(young(ack(1, 927, "a")), bench.now + 30_000))
    expired_note(fired)
    assert verdict["warnings"] == ["ack_without_effect"]
    assert of_agent(verdict) == []


def test_unanswered_attempts_send_the_agent_back() -> None:
    bench = agent_in("PUBLISH")
    asks = {"requires_ack": True, "ack_timeout_ms": 10, "retry_limit": 1}
    bench.give(young(packet("IDEA", 1, sender=AGENT, routing=asks)))
    again, gone = bench.facts(bench.advance_to(bench.now + 100))
    assert (again["rule"], again["coordination"]) == ("redelivered", [])
    assert gone["rule"] == "ack_timeout"
    expired_note(gone)


def test_whoever_waits_for_a_packet_that_is_retracted_waits_on() -> None:
    bench = agent_in("WAIT_FOR_ACK")
    bench.give(young(retraction(1, 927, sender=AGENT)))
    bench.give(young(ack(2, 927, "a", "REJECTED")))
    row = bench.coordination(AGENT)
    assert (row["state"], row["awaiting_packet_id"]) == ("WAIT_FOR_ACK", pid(927))
    bench.give(young(signal(3, "CANCEL", sender="boss", to=(AGENT,))))
    row = bench.coordination(AGENT)
    assert (row["state"], row["awaiting_packet_id"]) == ("LOCAL_HALT", None)


def test_answers_to_other_packets_are_not_for_the_agent() -> None:
    bench = agent_in("WAIT_FOR_ACK")
    bench.give(young(packet("IDEA", 1, sender=AGENT, to=("a",), routing={"requires_ack": True})))
    assert of_agent(bench.verdict(young(ack(2, 1, "a")))) == []
    assert bench.coordination(AGENT)["awaiting_packet_id"] == pid(927)


def test_an_event_that_moves_nothing_makes_no_row() -> None:
    bench = Bench()
    bench.give(young(packet("IDEA", 1, sender="a")))
    assert list(bench.rows_of_coordination()) == ["sess-01"]


def test_a_named_event_of_an_agent_is_its_own_in_each_session() -> None:
    bench = Bench()
    bench.give(named(1, "task_assigned", sender="x/y"))
    assert set(bench.rows_of_coordination()) == {"sess-01", "sess-01/x%2Fy"}
