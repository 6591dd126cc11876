"""Spans in any order, in any batches, repeated: the same facts but for duplicates."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.protocols.otel.support import Bench, Json, facts_of, span

SPANS = [
    span(
        number + 1,
        trace=f"{trace + 1:032x}",
        attributes={
            "session.id": f"sess-{trace}",
            "gen_ai.operation.name": operation,
            "gen_ai.completion.0.content": f"{number}",
        },
    )
    for trace in range(2)
    for number, operation in enumerate(("chat", "execute_tool", "invoke_agent", "embeddings"))
]


def decided_facts(batches: list[list[Json]]) -> list[Json]:
    """Return the facts about spans that came in these batches, without duplicates, sorted."""
    bench = Bench()
    for batch in batches:
        bench.decide(*[bench.message(each) for each in batch])
    facts = facts_of(bench.sent)
    repeated = [fact for fact in facts if fact["verdict"] == "duplicate"]
    assert len(facts) == sum(map(len, batches))
    assert {fact["rule"] for fact in repeated} <= {"span_duplicate"}
    accepted = [fact for fact in facts if fact["verdict"] == "accepted"]
    return sorted(accepted, key=lambda fact: (fact["trace_id"], fact["span_id"]))


IN_ORDER = decided_facts([SPANS])


@given(data=st.data())
def test_order_batches_and_repetition_change_nothing(data: st.DataObject) -> None:
    repeated = data.draw(st.lists(st.sampled_from(SPANS), max_size=8))
    spans = data.draw(st.permutations([*SPANS, *repeated]))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(spans) - 1))))
    bounds = [0, *cuts, len(spans)]
    batches = [spans[first:end] for first, end in itertools.pairwise(bounds)]
    assert decided_facts(batches) == IN_ORDER
