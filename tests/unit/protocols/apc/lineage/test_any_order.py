"""Whatever packets come and go, in whatever order and batches: the rows say what is there.

The deltas are made here from the definition of a task's contribution, and the rows are checked
against the packets that are left, one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from schemas import decode, encode
from streams.engine.processor import AvroValue
from streams.protocols.apc.lineage.effectiveness import blocked_reasons
from streams.settings import Settings
from tests.unit.protocols.apc.lineage.support import NANO, SUMS, Bench, delta
from topology.apc import APC_LINEAGE_TABLE

SAMPLES = 2
SETTINGS = Settings.load({}, apc_decay_min_samples=SAMPLES).as_work()
PROTOCOLS = ("px", "py")
MOVING = {"version": 0, "last_seen_at": None, "blocked_since": None}
"""What may depend on the way: how many deltas there were, and when."""


class Transfer(NamedTuple):
    protocol: str
    task: int
    accepted: bool
    cross: bool


class Eval(NamedTuple):
    task: int
    outcome: int
    drift: int | None


class Lineage(NamedTuple):
    """A packet of another type that bears lineage."""

    protocol: str
    task: int


Packet = Transfer | Eval | Lineage

TASKS = st.integers(1, 3)
NANOS = st.sampled_from([0, 1, NANO // 3, NANO // 2, 700_000_001, NANO])
PACKETS: st.SearchStrategy[Packet] = st.one_of(
    st.builds(Transfer, st.sampled_from(PROTOCOLS), TASKS, st.booleans(), st.booleans()),
    st.builds(Eval, TASKS, NANOS, st.none() | NANOS),
    st.builds(Lineage, st.sampled_from(PROTOCOLS), TASKS),
)
LISTS = st.lists(PACKETS, max_size=14)


def bench_of_few() -> Bench:
    """Few transfers are enough to decay."""
    return Bench(apc_decay_min_samples=SAMPLES)


def run_of(task: int) -> str:
    return "run-01" if task < 3 else "run-02"


def contribution(packets: Sequence[Packet], protocol: str, task: int) -> dict[str, int]:
    """What the packets of a task add to the sums of a protocol."""
    evals = [p for p in packets if isinstance(p, Eval) and p.task == task]
    drifts = [p.drift for p in evals if p.drift is not None]
    bearing = [
        p
        for p in packets
        if isinstance(p, Transfer | Lineage) and (p.protocol, p.task) == (protocol, task)
    ]
    transfers = [p for p in bearing if isinstance(p, Transfer)]
    n = len(transfers)
    outcome = round(Fraction(sum(p.outcome for p in evals), len(evals))) if evals else 0
    drift = round(Fraction(sum(drifts), len(drifts))) if drifts else 0
    return {
        "packets": len(bearing),
        "transfers": n,
        "accepted": sum(p.accepted for p in transfers),
        "cross": sum(p.cross for p in transfers),
        "tasks": int(n > 0),
        "outcome_weight": n if evals else 0,
        "outcome_sum_nano": n * outcome,
        "drift_weight": n if drifts else 0,
        "drift_sum_nano": n * drift,
    }


def changes(before: Sequence[Packet], after: Sequence[Packet], n: int) -> Iterator[AvroValue]:
    for protocol in PROTOCOLS:
        for task in (1, 2, 3):
            old = contribution(before, protocol, task)
            new = contribution(after, protocol, task)
            sums: dict[str, Any] = {name: new[name] - old[name] for name in SUMS}
            if any(sums.values()):
                members = {"protocol_id": protocol, "run_id": run_of(task)}
                yield delta(n, task_id=f"t{task}", **members, **sums)


def deltas_of(packets: Sequence[Packet], n: int = 0) -> list[AvroValue]:
    """Deltas of packets that come one after the other."""
    return [
        change
        for i in range(len(packets))
        for change in changes(packets[:i], packets[: i + 1], n + i)
    ]


def still(bench: Bench) -> dict[str, bytes]:
    """The rows without what may depend on the way."""
    record = APC_LINEAGE_TABLE.record
    return {
        key: encode(record, decode(row, record).value | MOVING)
        for key, row in bench.bytes().items()
    }


def expected_sums(packets: Sequence[Packet], protocol: str, run: str | None) -> dict[str, int]:
    parts = [
        contribution(packets, protocol, task) for task in (1, 2, 3) if run in (None, run_of(task))
    ]
    return {name: sum(part[name] for part in parts) for name in SUMS}


@given(LISTS)
def test_rows_say_what_the_packets_are(packets: list[Packet]) -> None:
    bench = bench_of_few()
    bench.each(*deltas_of(packets))
    for row in bench.rows(APC_LINEAGE_TABLE).values():
        sums = expected_sums(packets, row["protocol_id"], row["run_id"])
        assert {name: row[name] for name in SUMS} == sums
        reasons = [] if row["run_id"] else blocked_reasons(sums, SETTINGS)
        assert (row["blocked"], row["blocked_reasons"]) == (bool(reasons), reasons)
        runs = {
            run_of(p.task)
            for p in packets
            if isinstance(p, Transfer) and p.protocol == row["protocol_id"]
        }
        assert row["run_count"] == len(runs & {row["run_id"] or run for run in runs})


@given(LISTS, st.randoms(use_true_random=False))
def test_the_order_of_deltas_does_not_matter(packets: list[Packet], random: Random) -> None:
    deltas = deltas_of(packets)
    one, other = bench_of_few(), bench_of_few()
    one.each(*deltas)
    shuffled = list(deltas)
    random.shuffle(shuffled)
    other.each(*shuffled)
    assert still(other) == still(one)
    for key, row in one.rows(APC_LINEAGE_TABLE).items():
        again = other.rows(APC_LINEAGE_TABLE)[key]
        assert again | {"blocked_since": None} == row | {"blocked_since": None}


@given(LISTS.flatmap(lambda packets: st.tuples(st.just(packets), st.permutations(packets))))
def test_the_order_of_packets_does_not_matter(orders: tuple[list[Packet], list[Packet]]) -> None:
    one, other = bench_of_few(), bench_of_few()
    for bench, packets in zip((one, other), orders, strict=True):
        bench.each(*deltas_of(packets))
    rows, others = still(one), still(other)
    assert {key: others[key] for key in rows} == rows
    assert rows.keys() == others.keys()


@st.composite
def comings_and_goings(draw: st.DrawFn) -> tuple[list[Packet], list[Packet], list[int]]:
    """Packets that stay, packets that come after them, and in what order these go."""
    later = draw(LISTS)
    return draw(LISTS), later, draw(st.permutations(range(len(later))))


@given(comings_and_goings())
def test_packets_that_go_leave_the_rows_as_they_were(
    moves: tuple[list[Packet], list[Packet], list[int]],
) -> None:
    staying, later, order = moves
    bench = bench_of_few()
    bench.each(*deltas_of(staying))
    before = still(bench)
    there = dict(enumerate(later))
    all_of_them = [*staying, *later]
    for i in range(len(staying), len(all_of_them)):
        bench.each(*changes(all_of_them[:i], all_of_them[: i + 1], i))
    for n in order:
        old = [*staying, *there.values()]
        del there[n]
        bench.each(*changes(old, [*staying, *there.values()], 100 + n))
    after = still(bench)
    assert {key: after[key] for key in before} == before
    for key in after.keys() - before.keys():
        row = bench.rows(APC_LINEAGE_TABLE)[key]
        assert not any(row[name] for name in (*SUMS, "run_count", "effectiveness_score"))


@given(LISTS, st.sets(st.integers(0, 40)))
def test_where_batches_are_cut_does_not_matter(packets: list[Packet], cuts: set[int]) -> None:
    deltas = deltas_of(packets)
    one, other = bench_of_few(), bench_of_few()
    one.each(*deltas)
    batch: list[AvroValue] = []
    for n, change in enumerate(deltas):
        batch.append(change)
        if n in cuts or n == len(deltas) - 1:
            other.give(*batch)
            batch = []
    assert other.bytes() == one.bytes()
    assert other.sent == one.sent


@given(LISTS)
def test_decisions_tell_every_change_of_standing(packets: list[Packet]) -> None:
    bench = bench_of_few()
    standing = dict.fromkeys(PROTOCOLS, False)
    for change in deltas_of(packets):
        protocol = change["protocol_id"]
        sent = [one.value["decay"]["blocked"] for one in bench.give(change)]
        blocked = bench.total(protocol)["blocked"]
        assert sent == ([blocked] if blocked is not standing[protocol] else [])
        standing[protocol] = blocked
