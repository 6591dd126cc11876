"""`desk-router`, `deep-researcher` and `fact-checker`: each asks the next."""

from __future__ import annotations

from typing import Any

from streams.summit.errors import CallRejected
from streams.summit.serving.handlers import AgentResult
from streams.summit.serving.run import Run

Json = dict[str, Any]
RESEARCHER, CRITIC = "deep-researcher", "fact-checker"
MODEL = "example-1"
TOKEN_USD = 0.00001


class Unanswered(Exception):
    """The error for a call that ended without a result."""


async def route(inputs: Json, run: Run) -> Json:
    """Return the answer of the researcher."""
    result = await run.invoke(RESEARCHER, {"query": inputs["question"]}, budget=run.budget)
    if result["status"] != "completed":
        raise Unanswered(f"{RESEARCHER} {result['status']}: {result['error']['message']}")
    return {"answer": result["output"]["summary"], "by": RESEARCHER}


async def research(inputs: Json, run: Run) -> AgentResult:
    """Return a summary with a source for each step, verified by the critic where there is one."""
    query, sources = inputs["query"], []
    for step in range(1, inputs["depth"] + 1):
        run.charge(tokens=len(query.split()), cost_usd=TOKEN_USD * len(query.split()))
        sources.append(f"https://library.example/{step}")
        await run.progress(f"read source {step}")
    summary = f"What is known about {query}, from {len(sources)} sources."
    output = {"summary": summary, "sources": sources, "confidence": 0.85}
    return AgentResult(output, MODEL, verification=await _ask_critic(output, run))


async def _ask_critic(output: Json, run: Run) -> Json | None:
    inputs = {"text": output["summary"], "sources": output["sources"]}
    try:
        result = await run.invoke(CRITIC, inputs)
    except CallRejected:  # there is no critic
        return None
    return {"checks": result["output"]["checks"]} if result["status"] == "completed" else None


async def check(inputs: Json, run: Run) -> Json:
    """Check whether a text is not empty and names its sources."""
    says, named = bool(inputs["text"].strip()), bool(inputs["sources"])
    checks = [{"name": "says-something", "passed": says}, {"name": "sources", "passed": named}]
    return {"checks": checks}
