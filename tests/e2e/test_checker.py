"""The checker finds nothing in what a sound run left, and each fault that is put into it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e import checker, history
from tests.e2e.history import History
from tests.e2e.outputs import Json
from tests.e2e.recorded import Recorded
from tests.e2e.totals import Totals
from tests.e2e.traffic import outputs

PACKETS = 900
SESSIONS = 18
START_MS = 1_770_000_000_000
HORIZON_MS = 60_000


class Told(Recorded):
    """Packets of all kinds."""

    def run(self, dice: random.Random) -> None:
        records = outputs(self, dice, PACKETS, SESSIONS)
        for first in range(0, len(records), 40):
            self.log.append(records[first : first + 40])
            self._pass(100)
        self._pass(HORIZON_MS)
        self.host.close()

    def _pass(self, ms: int) -> None:
        end = self.now + ms
        self.host.run()
        while (due := self.host.next_due()) is not None and due <= end:
            self.now = max(due, self.now)
            self.host.run()
        self.now = end


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> History:
    recorded = Told(tmp_path_factory.mktemp("recorded"), START_MS)
    recorded.run(random.Random(11))
    return history.read(recorded)


def test_a_sound_history_has_no_faults(sound: History) -> None:
    assert checker.check(sound) == []
    assert len(sound.packets) == PACKETS


def facts(history: History, **members: Any) -> Iterator[Json]:
    """Facts with these members, in log order."""
    for _, fact in history.facts:
        if all(fact[name] == member for name, member in members.items()):
            yield fact


def first_fact(history: History, **members: Any) -> Json:
    return next(facts(history, **members))


def _drop(history: History, fact: Json) -> None:
    history.facts[:] = [entry for entry in history.facts if entry[1] is not fact]


def _change_row(change: Callable[[Json], None]) -> Callable[[History], None]:
    def alter(history: History) -> None:
        change(next(row for row in history.states.values() if row["state"] == "ROUTED"))

    return alter


def _flip_gate(history: History) -> None:
    fact = next(f for f in facts(history, verdict="accepted", packet_type="EVAL") if f["gates"])
    fact["gates"]["met"] = not fact["gates"]["met"]


def _accept_refused(history: History) -> None:
    fact = first_fact(history, rule="phase_type")
    fact |= {"verdict": "accepted", "rule": "accepted", "fault": None}


def _double_verdict(history: History) -> None:
    number, fact = history.facts[5]
    history.facts.insert(6, (number, copy.deepcopy(fact)))


def _judge_again(history: History) -> None:
    """The same record under another number, as a second owner might have."""
    number, fact = next(e for e in history.facts if e[1]["verdict"] == "accepted")
    again = copy.deepcopy(fact)
    again |= {"event_id": f"{fact['cause']}/7", "verdict": "duplicate", "rule": "duplicate"}
    history.facts.append((number, again))


def _forget_answer(history: History) -> None:
    fact = first_fact(history, rule="ack_recorded")
    fact["acks"]["pending"] = [*fact["acks"]["pending"], "d"]


def _illegal(history: History) -> None:
    row = next(row for row in history.states.values() if row["state"] == "ARCHIVED")
    row["history"][3]["event"] = "persisted"


def _fire_early(history: History) -> None:
    fact = first_fact(history, rule="ttl_expired")
    fact["at"] = "2026-01-01T00:00:00.000Z"


def _letter_too(history: History) -> None:
    history.dead.append(history.dead[0])


def _unread(history: History) -> None:
    del history.dead[0]


def _gap(history: History) -> None:
    one = next(one for one in history.observed if one["sequence"] == 2)
    one["sequence"] = 3


def _task_row(history: History) -> None:
    next(iter(history.tasks.values()))["transitions"] += 1


def _unopened(history: History) -> None:
    one = next(one for one in history.observed if one["origin"] == "apc")
    one["event_id"] = "00000000-0000-4000-8000-000000000000"


def _eval_row(history: History) -> None:
    next(row for row in history.task_facts.values() if row["evals"])["evals"].pop()


def _other_packet(history: History) -> None:
    history.deliveries[0]["packet"] = history.deliveries[-1]["packet"]


def _wrong_partition(history: History) -> None:
    number, fact = history.facts[0]
    history.facts[0] = (number + 1, fact)


def _redeliver_less(history: History) -> None:
    fact = first_fact(history, rule="redelivered")
    fact["acks"]["attempt"] -= 1


def _delta(history: History, **members: Any) -> tuple[str, Json]:
    return next(
        (position, delta)
        for position, delta in history.deltas.items()
        if all(delta[name] == member for name, member in members.items())
    )


def _drop_delta(history: History) -> None:
    del history.deltas[_delta(history, kind="eval")[0]]


def _double_delta(history: History) -> None:
    """As if it had been sent, summed and shown twice."""
    position, _ = _delta(history, kind="removal")
    again = f"{position.rpartition('/')[0]}/999999"
    history.deltas = dict(
        entry
        for p, d in history.deltas.items()
        for entry in ([(p, d), (again, d)] if p == position else [(p, d)])
    )


def _double_all(history: History) -> None:
    """A delta that was sent twice, with rows that agree with it."""
    _double_delta(history)
    totals = Totals()
    totals.run(history.deltas)
    history.lineage = totals.rows


def _alter_total(history: History) -> None:
    next(r for r in history.lineage.values() if r["outcome_sum_nano"])["outcome_sum_nano"] += 1


def _alter_score(history: History) -> None:
    next(r for r in history.lineage.values() if r["accepted"])["effectiveness_score"] = 1


def _throttle(history: History) -> Json:
    return next(fact for fact in facts(history, rule="accepted") if fact["throttle"])


def _see_others(history: History) -> None:
    _throttle(history)["throttle"]["decay"]["transfer_count"] += 1


def _pass_unmet(history: History) -> None:
    fact = first_fact(history, rule="score_below_window")
    fact |= {"verdict": "accepted", "rule": "accepted", "fault": None}


def _alter_figure(history: History) -> None:
    throttles = (f["throttle"] for f in facts(history, rule="accepted") if f["throttle"])
    check = next(c for throttle in throttles for c in throttle["checks"] if c["op"] == ">")
    check["right"] = "0.99"


def _forget_receiver(history: History) -> None:
    next(row for row in history.throttles.values() if row["receivers"])["receivers"].pop()


def _decision(history: History, kind: str) -> Json:
    return next(one for one in history.decisions if one["kind"] == kind)


def _select_nobody(history: History) -> None:
    """In the delta and in the decision alike."""
    for delta in history.deltas.values():
        if delta["decision"] and delta["decision"]["arbitration"]["selected_count"]:
            nobody = {"selected_packet_ids": [], "selected_count": 0, "winner_agrees": False}
            delta["decision"]["arbitration"] |= nobody
            ident = delta["decision"]["decision_id"]
            same = next(one for one in history.decisions if one["decision_id"] == ident)
            same["arbitration"] |= nobody
            return


def _drop_note(history: History) -> None:
    fact = next(f for _, f in history.facts if any(n["applied"] for n in f["coordination"]))
    fact["coordination"] = [n for n in fact["coordination"] if not n["applied"]]


def _wrong_note(history: History) -> None:
    note = next(n for _, f in history.facts for n in f["coordination"] if n["why"] == "no_edge")
    note |= {"applied": True, "why": "applied", "to_state": "CLOSED"}


def _drop_move(history: History) -> None:
    history.observed.remove(next(one for one in history.observed if one["origin"] == "apc"))


def _open_halted(history: History) -> None:
    fact = next(f for _, f in history.facts if f["rule"] in ("session_halted", "session_closed"))
    fact |= {"verdict": "accepted", "rule": "accepted", "fault": None}


FAULTS: list[tuple[str, Callable[[History], object], str]] = [
    (
        "a verdict is dropped",
        lambda h: _drop(h, first_fact(h, verdict="accepted")),
        "has no answer",
    ),
    ("a verdict is doubled", _double_verdict, "is there 2 times"),
    ("a record is judged again", _judge_again, "has 2 answers"),
    ("an effect is dropped", lambda h: _drop(h, first_fact(h, rule="delivered")), "owes"),
    ("an expiry is dropped", lambda h: _drop(h, first_fact(h, rule="ttl_expired")), "differs"),
    ("a delivery is dropped", lambda h: h.deliveries.pop(), "is missing"),
    ("a delivery is doubled", lambda h: h.deliveries.append(h.deliveries[0]), "is there 2 times"),
    ("a delivery holds another packet", _other_packet, "is not what was promised"),
    ("a dead letter is doubled", _letter_too, "has 2 answers"),
    ("a dead letter is dropped", _unread, "has no answer"),
    ("a row is altered", _change_row(lambda row: row.update(generation=99)), "generation is 99"),
    ("a row has another state", _change_row(lambda row: row.update(state="APPLIED")), "APPLIED"),
    ("a row is dropped", lambda h: h.states.pop(next(iter(h.states))), "is missing"),
    ("a row is left over", lambda h: h.states.update(x=next(iter(h.states.values()))), "no facts"),
    ("a step is illegal", _illegal, "illegal step"),
    (
        "a session row is altered",
        lambda h: next(iter(h.sessions.values()))["swarms"].pop(),
        "swarms",
    ),
    ("gates are not what metrics say", _flip_gate, "gates.met"),
    ("a refused packet is accepted", _accept_refused, "phase_type"),
    ("an answer is forgotten", _forget_answer, "acks is"),
    ("a redelivery is not counted", _redeliver_less, "redelivery is"),
    ("a timer fires early", _fire_early, "fired early"),
    (
        "a timer is left over",
        lambda h: h.timers.append("000000000000001/apc/apc.ttl/x"),
        "left over",
    ),
    ("a timer is lost", lambda h: h.timers.clear(), "is missing"),
    ("a counted EVAL is lost", _eval_row, "task row"),
    ("a fact lies elsewhere", _wrong_partition, "lies on partition"),
    ("a sequence has a gap", _gap, "has sequence 3 after 1"),
    ("an observation is lost", lambda h: h.observed.pop(), "has no answer"),
    ("a task row is altered", _task_row, "transitions is"),
    ("a session is opened by another", _unopened, "moves of session"),
    ("a move of a session is lost", _drop_move, "moves of session"),
    ("a delta is dropped", _drop_delta, "is missing"),
    ("a delta dropped changes a sum", _drop_delta, "sum of deltas of"),
    ("a delta is doubled", _double_delta, "is there 2 times"),
    ("a delta is doubled and summed", _double_all, "count of"),
    ("a total is altered", _alter_total, "outcome_sum_nano is"),
    ("a score is altered", _alter_score, "effectiveness_score is"),
    ("a row of lineage is lost", lambda h: h.lineage.popitem(), "is missing"),
    ("a delta became a dead letter", lambda h: h.dead_deltas.append(h.dead[0]), "of deltas"),
    ("an edge is dropped", lambda h: h.edges.pop(), "is missing"),
    ("an edge is doubled", lambda h: h.edges.append(h.edges[0]), "is there 2 times"),
    ("a decay is dropped", lambda h: h.decisions.remove(_decision(h, "decay")), "is missing"),
    (
        "an arbitration is dropped",
        lambda h: h.decisions.remove(_decision(h, "arbitration")),
        "is missing",
    ),
    ("a decision is doubled", lambda h: h.decisions.append(h.decisions[0]), "is there 2 times"),
    ("an arbitration selects nobody", _select_nobody, "selected_count is"),
    ("totals are seen that never were", _see_others, "which never were"),
    ("a transfer passes an unmet bound", _pass_unmet, "score_below_window"),
    ("a figure of a check is altered", _alter_figure, "does not follow from its figures"),
    ("a receiver is forgotten", _forget_receiver, "throttle row"),
    ("a note is lost", _drop_note, "do not follow"),
    ("a note is no step", _wrong_note, "is no step"),
    ("a session goes on after its end", _open_halted, "session_"),
]


@pytest.mark.parametrize(
    ("fault", "message"), [f[1:] for f in FAULTS], ids=[f[0].replace(" ", "-") for f in FAULTS]
)
def test_a_fault_is_found(sound: History, fault: Callable[[History], object], message: str) -> None:
    faulty = copied(sound)
    fault(faulty)
    problems = checker.check(faulty)
    assert any(message in problem for problem in problems), problems[:5]


def copied(sound: History) -> History:
    """Deep enough to be altered; records on the log are not."""
    members = dict(vars(sound))
    records = {"packets", "raw", "dead", "dead_raw", "dead_deltas"}
    for name in records:
        members[name] = copy.copy(members[name])
    for name in members.keys() - records:
        members[name] = copy.deepcopy(members[name])
    return History(**members)
