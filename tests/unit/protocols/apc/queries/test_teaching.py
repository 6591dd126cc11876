"""Who teaches whom, and what the transfers of a protocol come to by generation."""

from __future__ import annotations

from typing import Any

from tests.unit.protocols.apc.queries.facts import evaluation, transfer
from tests.unit.protocols.apc.queries.test_protocols import retraction
from tests.unit.views.bench import Bench

TEACHING, GENERATIONS = "/v1/lineage/teaching", "/v1/lineage/generations"
Json = dict[str, Any]


def handed(number: int, protocol: str = "px", generation: int = 14, **changes: Any) -> Json:
    """A TRANSFER of a generation, which is given to swarm-b unless `payload__to_swarm` differs."""
    return transfer(number, protocol, trace__generation=generation, **changes)


def test_teaching_counts_accepted_and_rejected_transfers(bench: Bench) -> None:
    bench.send("apc.packets", handed(1), handed(2, generation=15), handed(3, "py"))
    bench.send("apc.packets", handed(4, payload__sender_score=0.1))
    rows = bench.look(TEACHING)["items"]
    assert [(each["protocol_id"], each["accepted"], each["rejected"]) for each in rows] == [
        ("px", 2, 1),
        ("py", 1, 0),
    ]
    first = rows[0]
    assert (first["from_swarm"], first["to_swarm"]) == ("swarm-a", "swarm-b")
    assert first["last_generation"] == 15
    assert first["last_at"] == "2026-01-01T00:00:00.004Z"


def test_teaching_of_a_run_and_of_a_protocol(bench: Bench) -> None:
    bench.send("apc.packets", handed(1), handed(2, trace__run_id="r2"), handed(3, "py"))
    of_run = bench.look(TEACHING, "run_id=r2")["items"]
    assert [(each["protocol_id"], each["accepted"]) for each in of_run] == [("px", 1)]
    of_protocol = bench.look(TEACHING, "protocol_id=py")["items"]
    assert [each["protocol_id"] for each in of_protocol] == ["py"]
    assert bench.look(TEACHING, "run_id=r2&protocol_id=py") == {"items": [], "next": None}


def test_teaching_comes_in_pages(bench: Bench) -> None:
    bench.send("apc.packets", handed(1), handed(2, "py"))
    page = bench.look(TEACHING, "limit=1")
    last = bench.look(TEACHING, f"limit=1&cursor={page['next']}")
    assert page["items"] + last["items"] == bench.look(TEACHING)["items"]


def test_generations_sum_up_all_transfers_up_to_each(bench: Bench) -> None:
    bench.send("apc.packets", handed(1), handed(2, generation=15, payload__accepted=True))
    bench.send("apc.packets", handed(3, "py"), evaluation(4, 0.5, None))
    rows = bench.look(GENERATIONS)["items"]
    assert [(each["protocol_id"], each["generation"], each["transfers"]) for each in rows] == [
        ("px", 14, 1),
        ("px", 15, 2),
        ("py", 14, 1),
    ]
    last = rows[1]
    total = bench.look("/v1/apc/protocols/px")
    assert (last["accepted"], total["accepted"]) == (1, 1)
    for name in ("avg_outcome", "avg_drift_risk", "effectiveness_score"):
        assert last[name] == total[name]
    assert bench.look(GENERATIONS, "protocol_id=py")["items"] == rows[2:]


def test_generations_come_in_pages(bench: Bench) -> None:
    bench.send("apc.packets", handed(1), handed(2, generation=15), handed(3, "py"))
    rows: list[Json] = []
    query = "limit=1"
    for _ in range(3):
        page = bench.look(GENERATIONS, query)
        rows += page["items"]
        query = f"limit=1&cursor={page['next']}"
    assert page["next"] is None
    assert rows == bench.look(GENERATIONS)["items"]


def test_a_retracted_transfer_is_no_longer_summed_up(bench: Bench) -> None:
    bench.send("apc.packets", handed(1), handed(2, generation=15), retraction(3, 2))
    rows = bench.look(GENERATIONS, "protocol_id=px")["items"]
    assert [(each["generation"], each["transfers"]) for each in rows] == [(14, 1), (15, 1)]
