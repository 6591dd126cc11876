"""An agent whose answers are held until a critic has judged them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.unit.protocols.summit.queries.stage import AGENT, manifest, result, words
from tests.unit.protocols.summit.routes.summit_bench import MANIFESTS, SummitBench, summit_bench

Json = dict[str, Any]
CRITIC = "fact-check"
OPEN = {"inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}


@contextmanager
def gated_bench(folder: Path, **settings: Any) -> Iterator[SummitBench]:
    critic = manifest(CRITIC, role="critic", interface=OPEN, tools=[])
    named = manifest()
    named["metadata"]["judge"] = {"agentId": CRITIC}
    with summit_bench(folder, summit_judge_gate=True, **settings) as bench:
        for made in (named, critic):
            bench.send_and_await(MANIFESTS, made)
        yield bench


def answer_only(made: Json) -> list[Json]:
    """Answer what the agent is asked; the critic says nothing."""
    return words(made) if made["params"]["agentId"] == AGENT else []


def answer_and_judge(made: Json) -> list[Json]:
    params = made["params"]
    if params["agentId"] == AGENT:
        return words(made)
    return [judge(params["runId"])]


def judge(run_id: str) -> Json:
    """Return the critic's judgement, in the run that the service called."""
    return result(run_id, {"status": "passed"}, agent=CRITIC)
