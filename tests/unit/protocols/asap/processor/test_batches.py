"""How records are cut into batches changes nothing of what is decided."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import asap
from tests.examples import example_count
from tests.unit.protocols.asap.processor.support import START_MS, Bench, Json
from tests.unit.protocols.asap.processor.test_any_record import sound


def key_of(envelope: Json) -> str | None:
    try:
        return asap.task_key(envelope)
    except asap.MalformedEnvelopeError:
        return None


def run(line: list[Json], cuts: list[int]) -> Bench:
    """Links are read when all records have been decided, as from a topic of their own."""
    bench = Bench()
    messages = [
        bench.record(envelope, START_MS + 100 * n, key=key_of(envelope))
        for n, envelope in enumerate(line)
    ]
    sent: list[Any] = []
    for start, end in zip([0, *cuts], [*cuts, len(messages)], strict=True):
        if start < end:
            sent += bench.decide(*messages[start:end])
    bench.settle(sent)
    return bench


@settings(max_examples=example_count(100), deadline=None)
@given(st.lists(sound(), max_size=12), st.lists(st.integers(0, 12), max_size=4))
def test_any_cut_is_the_same(line: list[Json], cuts: list[int]) -> None:
    cuts = sorted(min(cut, len(line)) for cut in cuts)
    whole, parts = run(line, []), run(line, cuts)
    assert whole.sent == parts.sent
    assert whole.tables == parts.tables
    assert whole.timers == parts.timers
