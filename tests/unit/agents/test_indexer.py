"""What the example worker of ASAP says to a task, and how it goes on from a snapshot."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.asap import Envelope, canonical_form, validate
from streams.agents.asap.indexer import SKILL, State, request, resumed, work

PLANNER, INDEXER = "urn:asap:agent:planner", "urn:asap:agent:indexer:eu"
SNAPSHOT = "dev.headrace.snapshot"


def index_request(pages: int) -> Envelope:
    return request(PLANNER, INDEXER, "conv-7f", pages, "tr-19")


def last(envelopes: list[Envelope]) -> Any:
    return envelopes[-1].payload


def test_every_hop_is_valid_and_correlated() -> None:
    of = index_request(3)
    envelopes = list(work(of, State()))
    assert [each.canonical_type for each in envelopes] == [*["TaskUpdate"] * 3, "TaskResponse"]
    for each in (of, *envelopes):
        assert validate(canonical_form(each)) == []
        assert each.trace_id == "tr-19"
    assert {each.correlation_id for each in envelopes} == {of.id}
    assert {(each.sender, each.recipient) for each in envelopes} == {(INDEXER, PLANNER)}


def test_progress_and_state_go_out_together() -> None:
    envelopes = list(work(index_request(20), State()))[:-1]
    pages = [each.payload["progress"]["page"] for each in envelopes]
    saved = [(each.extensions or {})[SNAPSHOT] for each in envelopes]
    assert pages == [each["data"]["page"] for each in saved] == list(range(1, 21))
    assert [n for n, each in enumerate(saved, 1) if each["checkpoint"]] == [10, 20]


@pytest.mark.parametrize("left", range(4))
def test_work_that_is_taken_up_ends_as_if_it_was_never_left(left: int) -> None:
    of = index_request(3)
    whole = list(work(of, State()))
    data = (whole[left - 1].extensions or {})[SNAPSHOT]["data"] if left else None
    remaining = list(work(of, resumed(data)))
    assert len(remaining) == len(whole) - left
    assert last(remaining) == last(whole)


def test_nothing_to_do_is_done_at_once() -> None:
    (done,) = work(index_request(0), State())
    assert (done.payload["status"], done.payload["result"]["pages"]) == ("completed", 0)


@pytest.mark.parametrize(
    "change",
    [{"skill_id": "other"}, {"input": {}}, {"input": {"pages": "3"}}, {"input": {"pages": -1}}],
)
def test_what_it_cannot_do_is_rejected(change: dict[str, Any]) -> None:
    of = index_request(3)
    other = of.model_copy(update={"payload": {**of.payload, **change}})
    (refusal,) = work(other, State())
    assert refusal.payload["status"] == "rejected"
    assert SKILL in refusal.payload["result"]["error"]
