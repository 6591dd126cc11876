"""The index of invoked runs by their last change, against the rows themselves."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

from streams.protocols.summit.queries.invoked import Change, counts_of, each_changed
from streams.protocols.summit.queries.rows import run_key
from streams.views.values import json_of
from tests.unit.protocols.summit.queries.stage import (
    AGENT,
    CALLS,
    REPLIES,
    cancel,
    failure,
    invoke,
    progress,
    registered,
    result,
    tool_call,
)
from tests.unit.views.bench import Bench
from topology.summit import SUMMIT_RUNS

CALLERS = (None, "desk-7", "desk-8")
RUNS = [f"run-{number}" for number in range(12)]


def call(run_id: str, number: int) -> dict[str, Any]:
    caller = CALLERS[number % len(CALLERS)]
    return invoke(run_id) if caller is None else {**invoke(run_id), "caller": caller}


def work(bench: Bench, numbers: random.Random) -> None:
    """Call an agent, and let it answer in any order."""
    registered(bench)
    bench.send(CALLS, *(call(run_id, number) for number, run_id in enumerate(RUNS)), tool_call())
    for step in range(30):
        run_id = numbers.choice(RUNS)
        replies = [
            progress(run_id, f"p-{step}", message="half"),
            {**result(run_id), "replyId": f"r-{step}"},
            {**failure(run_id), "replyId": f"f-{step}"},
        ]
        bench.send(REPLIES, numbers.choice(replies))
    bench.send(CALLS, cancel(RUNS[0]))


def test_index_has_every_invoked_run_once(tmp_path: Path) -> None:
    """List the runs of each caller by their last change, and count them by state."""
    bench = Bench(tmp_path)
    try:
        work(bench, random.Random(7))
        bench.view.catch_up(0)
        view = bench.view
        rows = [json_of(SUMMIT_RUNS, row) for row in view.get_many([*map(run_key, RUNS)]) if row]
        assert len(rows) == len(RUNS)
        for caller in CALLERS:
            of_caller = [row for row in rows if caller in (None, row["caller"])]
            changed = [change for change, _ in each_changed(view, AGENT, caller)]
            assert sorted(change.run_id for change in changed) == sorted(
                row["runId"] for row in of_caller
            )
            assert changed == sorted(changed, reverse=True)
            states = Counter(row["state"] for row in of_caller)
            counts = counts_of(view, AGENT, caller)
            assert {state: count for state, count in counts.items() if count} == states
            middle = changed[len(changed) // 2]
            further = [change for change, _ in each_changed(view, AGENT, caller, middle)]
            assert further == changed[len(changed) // 2 + 1 :]
    finally:
        bench.close()


def test_index_names_the_rows(tmp_path: Path) -> None:
    """Give the key of the row with each change, and its time."""
    bench = Bench(tmp_path)
    try:
        registered(bench)
        bench.send(CALLS, invoke("run-1"))
        bench.view.catch_up(0)
        view = bench.view
        ((change, row_key),) = each_changed(view, AGENT, None)
        assert (change, row_key) == (Change(bench.now, "run-1"), run_key("run-1"))
        assert list(each_changed(view, "another", None)) == []
        assert counts_of(view, AGENT, "desk-7") == {}
    finally:
        bench.close()
