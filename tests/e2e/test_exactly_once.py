"""Workers that are killed, join and leave under traffic: what is left is exact all the same."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from schemas.apc import rules
from schemas.rules import Stage
from streams.engine.rows import store_key
from streams.engine.state import State
from streams.engine.store import Store
from streams.engine.worker import worker_directory
from tests.e2e import checker, history
from tests.e2e.environment import Environment
from tests.e2e.outputs import latest
from tests.e2e.traffic import outputs
from tests.examples import run_size
from topology import processors
from topology.apc import APC_EVENTS
from topology.core import CHANGELOG
from topology.machines.apc_inter import InterState
from topology.machines.apc_intra import IntraState

WHOLE = 20_000
PACKETS = run_size(WHOLE, 8_000)
AT_FIRST = run_size(6_000, 1_600)
BURST = 1_600
KILLS = run_size(6, 3)
NEED_OTHER_SETTINGS = {rules.AGENT_STATE, rules.DRIFT_CHECK_MISSING, rules.PHASE_GUARD_TOP_K}
"""Rules of policy that cannot decide with the settings and the windows as they are."""
NEED_BUDGETS = {rules.SESSION_BUDGET, rules.BUDGET_EXPRESSION_UNKNOWN}
"""Rules about budgets of sessions, which these packets do not have."""


class Run:
    """Traffic in bursts, and points in it at which something may happen."""

    def __init__(self, environment: Environment, dice: random.Random) -> None:
        self._environment = environment
        self._dice = dice
        self._records = outputs(environment, dice, PACKETS)
        self._tail = environment.tail(APC_EVENTS)
        self._send(AT_FIRST)

    def _send(self, count: int) -> None:
        self._environment.send(self._records[:count])
        del self._records[:count]

    def send_remaining(self) -> None:
        self._send(len(self._records))

    @contextmanager
    def point(self) -> Iterator[None]:
        """While records come in and are decided: after any of the facts to come, anywhere in a
        cycle.
        """
        aim = self._tail.poll() + self._dice.randrange(1, BURST * 3 // 4)
        sizes = [self._dice.randrange(1, 300) for _ in range(BURST)]
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(self._burst, sizes)
            self._tail.until(aim)
            time.sleep(self._dice.random() / 20)
            print(f"at {self._tail.poll()} facts")
            yield
            sending.result()

    def _burst(self, sizes: Sequence[int]) -> None:
        left = BURST
        for size in sizes:
            self._send(min(size, left))
            left -= size
            if left <= 0:
                return
            time.sleep(0.05)


def test_each_packet_is_judged_once_though_workers_are_killed_join_and_leave(
    environment: Environment, dice: random.Random
) -> None:
    run = Run(environment, dice)
    first = environment.start("first", "--static", BATCH="50")
    second = None
    for kill in range(KILLS - 1):
        if dice.random() < 0.8:  # else while it opens, perhaps
            first.wait_ready()
        with run.point():
            first.kill()
        first = environment.start("first", "--static", BATCH="50")
        if kill == 1:
            second = environment.start("second", BATCH="50")
    assert second is not None
    second.wait_ready()
    with run.point():
        second.kill()
    second = environment.start("second", BATCH="50")
    second.wait_ready()
    with run.point():
        second.end()
    run.send_remaining()
    first.wait_ready(*environment.numbers)
    environment.drain()
    first.end()

    run_history = history.read(environment)
    assert len(run_history.packets) == PACKETS
    assert checker.check(run_history) == []
    check_stores(environment, "first")
    if PACKETS == WHOLE:  # a shorter run does not meet with everything
        check_variety(run_history)


def check_stores(environment: Environment, worker: str) -> None:
    """RocksDB of the worker that owned all tasks when it ended, and one restored from nothing,
    hold what the changelogs hold.
    """
    tables = [table for processor in processors.ALL for table in processor.tables]
    directory = worker_directory(environment.settings_of(worker))
    for partition in environment.numbers:
        expected = logged(environment, partition)
        assert stored(directory / str(partition)) == expected
        restored = environment.directory / "restored" / str(partition)
        prefix = environment.settings.prefix
        state = State(restored, environment.log, prefix, partition, tables)
        state.open(0)
        state.close()
        assert stored(restored) == expected


def logged(environment: Environment, partition: int) -> dict[bytes, bytes]:
    rows: dict[bytes, bytes] = {}
    tables = [table for processor in processors.ALL for table in processor.tables if table.topic]
    for topic, prefix in [(t.topic, store_key(t.name, "")) for t in tables] + [(CHANGELOG, b"")]:
        assert topic is not None
        live = latest(environment.records(topic))
        rows |= {prefix + key: row for (number, key), row in live.items() if number == partition}
    return rows


def stored(path: Path) -> dict[bytes, bytes]:
    with Store(path) as store:
        return dict(store.scan(b"", b"\1"))  # what lies below are the store's own notes


def check_variety(run_history: history.History) -> None:
    """The traffic was what the test is about: all that packets can meet with came up."""
    seen = Counter(fact["rule"] for _, fact in run_history.facts)
    seen.update(warning for _, fact in run_history.facts for warning in fact["warnings"])
    stages = (Stage.POLICY, Stage.EFFECT, Stage.TIMER, Stage.WARNING)
    expected = {rule.code for rule in rules.ALL if rule.stage in stages}
    assert expected - seen.keys() == {rule.code for rule in NEED_OTHER_SETTINGS | NEED_BUDGETS}
    assert {"duplicate", "packet_conflict", "key_mismatch", "partition_mismatch"} <= seen.keys()
    assert len({letter.value for letter in run_history.dead}) > 5
    assert {one["rule"] for one in run_history.refused} >= {"event_duplicate"}
    events = {
        transition["event"] for row in run_history.states.values() for transition in row["history"]
    }
    assert {"promotion_eligible", "supersession_recorded"} <= events
    check_lineage_variety(run_history)


def check_lineage_variety(run_history: history.History) -> None:
    kinds = {delta["kind"] for delta in run_history.deltas.values()}
    assert kinds == {"transfer", "eval", "lineage", "removal", "arbitration"}
    decays = {one["decay"]["blocked"] for one in run_history.decisions if one["decay"]}
    assert decays == {True, False}
    figures = [one["arbitration"] for one in run_history.decisions if one["arbitration"]]
    reasons = {
        one["reason"]
        for arbitration in figures
        for one in (*arbitration["blocked"], *arbitration["rejected"])
    }
    assert {reason.partition(":")[0] for reason in reasons} == {
        "protocol_decay_blocked",
        "protocol_effectiveness_gate_blocked",
        "packet_unknown",
        "packet_type_not_transfer",
        "policy_reject",
        "not_live",
    }
    assert len({edge["relation"] for _, edge in run_history.edges}) >= 8
    states = {note["to_state"] for row in run_history.sessions.values() for note in row["history"]}
    assert states >= {*InterState, *IntraState} - {"SESSION_OPEN"}
    why = {note["why"] for _, fact in run_history.facts for note in fact["coordination"]}
    assert why == {"applied", "no_edge", "guard_failed", "unknown_event"}
