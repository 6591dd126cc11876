"""Streamed thoughts held against the thoughts of turns."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import example_count
from tests.unit.protocols.saop.queries.stage import ask, chunk, items, move, turn
from tests.unit.views.bench import Bench

AUDIT = "/v1/saop/thought-audit"


def begin(bench: Bench, session_id: str = "s1", task_id: str = "A") -> None:
    bench.send("rtes.raw", move(session_id, task_id, "PENDING", "IN_PROGRESS"))


def end(bench: Bench, session_id: str = "s1", task_id: str = "A") -> None:
    bench.send("rtes.raw", move(session_id, task_id, "IN_PROGRESS", "COMPLETED"))


def stream(bench: Bench, index: int, *texts: str, final: bool = True, session: str = "s1") -> None:
    last = len(texts) - 1
    chunks = [chunk(session, index, text, final and n == last) for n, text in enumerate(texts)]
    bench.send("rtes.raw", *chunks)


def only(bench: Bench, **query: Any) -> dict[str, Any]:
    (item,) = items(bench, AUDIT, **query)
    return item


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_match(bench: Bench) -> None:
    begin(bench)
    stream(bench, 0, "I think ", "", "😀 thus")
    bench.send("saop.turns", turn("A", 0, thought="I think 😀 thus"))
    expected = {
        "task_id": "A",
        "session_id": "s1",
        "turn_index": 0,
        "agent_id": "developer",
        "status": "match",
        "reason": None,
        "chunks": 3,
        "stream_chars": 14,
        "thought_chars": 14,
        "stream_sha256": sha256("I think 😀 thus"),
        "thought_sha256": sha256("I think 😀 thus"),
        "first_difference": None,
    }
    assert only(bench, task_id="A") == expected
    assert only(bench, session_id="s1") == expected


def pending(bench: Bench, reason: str, session_id: str | None = "s1") -> dict[str, Any]:
    item = only(bench, task_id="A")
    assert (item["status"], item["reason"]) == ("pending", reason)
    assert (item["session_id"], item["first_difference"]) == (session_id, None)
    return item


def test_no_turn_yet(bench: Bench) -> None:
    begin(bench)
    stream(bench, 0, "hm")
    item = pending(bench, "no_turn")
    assert (item["thought_chars"], item["thought_sha256"]) == (None, None)
    assert (item["stream_chars"], item["stream_sha256"]) == (2, sha256("hm"))


def test_no_stream(bench: Bench) -> None:
    bench.send("saop.turns", turn("A", 0, thought="hm"))
    item = pending(bench, "no_stream", None)
    assert (item["chunks"], item["stream_chars"], item["stream_sha256"]) == (0, None, None)
    begin(bench)
    assert pending(bench, "no_stream") == only(bench, session_id="s1")


def test_not_final(bench: Bench) -> None:
    begin(bench)
    stream(bench, 0, "hm", final=False)
    bench.send("saop.turns", turn("A", 0, thought="other"))
    pending(bench, "not_final")


def test_several_streams(bench: Bench) -> None:
    for session_id in ("s1", "s2"):
        begin(bench, session_id)
        stream(bench, 0, "hm", session=session_id)
    begin(bench, "s3")
    bench.send("saop.turns", turn("A", 0, thought="hm"))
    item = pending(bench, "several_streams", None)
    assert (item["chunks"], item["stream_chars"]) == (2, None)
    assert only(bench, session_id="s1") == only(bench, session_id="s2") == item
    assert items(bench, AUDIT, session_id="s3") == []


def test_a_stream_without_a_task(bench: Bench) -> None:
    stream(bench, 3, "hm")
    item = only(bench, session_id="s1")
    assert (item["status"], item["reason"]) == ("pending", "no_task")
    assert (item["task_id"], item["turn_index"], item["stream_chars"]) == (None, 3, 2)
    assert items(bench, AUDIT, task_id="A") == []


def test_another_agents_turn_is_another_item(bench: Bench) -> None:
    begin(bench)
    stream(bench, 0, "hm")
    bench.send("saop.turns", turn("A", 0, "reviewer", thought="hm"))
    entries = items(bench, AUDIT, task_id="A")
    assert [(item["agent_id"], item["reason"]) for item in entries] == [
        ("developer", "no_turn"),
        ("reviewer", "no_stream"),
    ]


def test_a_session_has_many(bench: Bench) -> None:
    """Page by page: tasks in order, their turns, then what has no task."""
    for task_id in ("B", "A\0x", "A"):
        begin(bench, task_id=task_id)
        for index in (0, 1, 10):
            stream(bench, index, "hm")
        end(bench, task_id=task_id)
    stream(bench, 2, "loose")
    stream(bench, 7, "loose")
    entries = items(bench, AUDIT, session_id="s1")
    indexes = [(task_id, index) for task_id in ("A", "A\0x", "B") for index in (0, 1, 10)]
    expected = [*indexes, (None, 2), (None, 7)]
    assert [(item["task_id"], item["turn_index"]) for item in entries] == expected


@given(
    thought=st.text(max_size=30),
    stream_text=st.none() | st.text(max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=4),
)
@settings(
    max_examples=example_count(60), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
def test_any_split_of_a_thought_matches_it_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, thought: str, stream_text: str | None, cuts: list[int]
) -> None:
    bench = Bench(tmp_path_factory.mktemp("bench"), partitions=1)
    streamed = thought if stream_text is None else stream_text
    places = [0, *sorted(cuts), 30]
    pieces = [streamed[a:b] for a, b in pairwise(places)]
    begin(bench)
    stream(bench, 0, *pieces)
    bench.send("saop.turns", turn("A", 0, thought=thought))
    item = only(bench, task_id="A")
    differing = [n for n, (a, b) in enumerate(zip(streamed, thought, strict=False)) if a != b]
    first = min([*differing, min(len(streamed), len(thought))])
    same = streamed == thought
    assert item["status"] == ("match" if same else "mismatch")
    assert item["first_difference"] == (None if same else first)
    assert (item["stream_sha256"], item["chunks"]) == (sha256(streamed), len(pieces))
    bench.close()


def test_a_long_stream_is_read_in_portions(bench: Bench) -> None:
    begin(bench)
    texts = [f"{number}," for number in range(200)]
    stream(bench, 0, *texts)
    bench.send("saop.turns", turn("A", 0, thought="".join(texts)))
    assert only(bench, task_id="A")["status"] == "match"


@pytest.mark.parametrize("query", ["", "task_id=A&session_id=s1", "session_id=s1&cursor=AAAA"])
def test_a_bad_query(bench: Bench, query: str) -> None:
    answer = bench.get(AUDIT, query)
    assert (answer.status, answer.body["rule"]) == (422, "query_value")


def test_nothing_to_hold_against(bench: Bench) -> None:
    assert ask(bench, AUDIT, task_id="A") == {"items": [], "next": None}
