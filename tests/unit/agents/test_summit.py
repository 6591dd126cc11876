"""What the example agents of Summit say, and that it is what their manifests promise."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from schemas.summit import manifest_hash, schema_of
from streams.agents.summit import research, words
from streams.agents.summit.__main__ import EXAMPLES, manifest_of
from streams.summit.errors import BudgetExceeded, CallRejected
from streams.summit.serving.handlers import AgentResult
from streams.summit.serving.run import Run
from tests.unit.summit.support import invoke

Json = dict[str, Any]
CHECKED = {"checks": [{"name": "sources", "passed": True}]}


class FakeRunHost:
    """Gives these results, one after the other, to who makes a run."""

    def __init__(self, *results: Json | Exception) -> None:
        self._results = list(results)
        self.calls: list[tuple[str, Json]] = []
        self.reports: list[Json] = []

    async def progress(self, reply: Json) -> None:
        self.reports.append(reply)

    async def call_agent(self, method: str, params: Json) -> Json:
        self.calls.append((method, params))
        result = self._results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


def handle(agent: str, inputs: Json, host: FakeRunHost, context: Json | None = None) -> Any:
    """By its handler, about inputs that its manifest takes, with the defaults filled in."""
    interface = manifest_of(agent).spec.interface
    schema = schema_of(json.dumps(interface.inputSchema))
    filled = schema.filled(inputs)
    assert schema.errors(filled, "") == []

    async def run_handler() -> Any:
        run = Run(invoke("run-1", filled, context), host)
        return await EXAMPLES[agent].handler(filled, run)

    result = asyncio.run(run_handler())
    output = result.output if isinstance(result, AgentResult) else result
    assert schema_of(json.dumps(interface.outputSchema)).errors(output, "") == []
    return result


@pytest.mark.parametrize("agent", EXAMPLES)
def test_manifests_are_valid_and_name_the_tools_there_are(agent: str) -> None:
    manifest = manifest_of(agent)
    assert manifest.check() == []
    assert manifest.metadata.name == agent
    assert {tool.name for tool in manifest.spec.tools} == EXAMPLES[agent].tools.keys()


def test_word_stats_is_the_one_of_the_worked_example() -> None:
    assert manifest_hash(manifest_of("word-stats").to_json()) == (
        "6b669a549e94716e8aa5293e548855cdd6cb4d55a6fee90ca2a6d5262c19a6aa"
    )
    output = handle("word-stats", {"text": "to be or not to be"}, FakeRunHost())
    assert output == {"words": 6, "top": ["be", "to", "not"]}


@pytest.mark.parametrize(
    ("text", "top", "expected"),
    [
        ("", 3, {"words": 0, "top": []}),
        ("B a b", 1, {"words": 3, "top": ["b"]}),
        ("one two", 9, {"words": 2, "top": ["one", "two"]}),
    ],
)
def test_words_are_counted(text: str, top: int, expected: Json) -> None:
    assert words.counted(text, top) == expected


@pytest.mark.parametrize(
    ("title", "slug"), [("To be, or not", "to-be-or-not"), ("", ""), (" A  1 ", "a-1")]
)
def test_slugs(title: str, slug: str) -> None:
    run = Run(invoke("run-1"), FakeRunHost())
    assert asyncio.run(words.slugify({"title": title}, run)) == slug


def test_the_router_asks_the_researcher_within_its_budget() -> None:
    output = {"summary": "It is so.", "sources": [], "confidence": 0.85}
    host = FakeRunHost({"status": "completed", "output": output})
    budget = {"usd": 1}
    answer = handle("desk-router", {"question": "is it so?"}, host, {"budget": budget})
    assert answer == {"answer": "It is so.", "by": "deep-researcher"}
    ((method, params),) = host.calls
    assert (method, params["inputs"]) == ("agent.invoke", {"query": "is it so?"})
    assert params["context"] == {"parentRunId": "run-1", "budget": budget}


def test_the_router_has_no_answer_of_its_own() -> None:
    host = FakeRunHost(
        {"status": "failed", "error": {"code": -32012, "message": "run.timeout: too late"}}
    )
    with pytest.raises(research.Unanswered, match=r"deep-researcher failed: run\.timeout"):
        handle("desk-router", {"question": "is it so?"}, host)


@pytest.mark.parametrize(
    ("critic", "verification"),
    [
        ({"status": "completed", "output": CHECKED}, CHECKED),
        ({"status": "cancelled", "error": {}}, None),
        (CallRejected("agent.unknown", "no agent"), None),
    ],
)
def test_the_researcher_has_its_draft_checked(critic: Any, verification: Json | None) -> None:
    host = FakeRunHost(critic)
    result = handle("deep-researcher", {"query": "quantum computing"}, host)
    assert result.output["sources"] == ["https://library.example/1", "https://library.example/2"]
    assert result.verification == verification
    assert [report["replyId"] for report in host.reports] == ["p1", "p2"]
    assert host.reports[-1]["metrics"]["tokens"] == 4


def test_the_researcher_stops_at_its_budget() -> None:
    with pytest.raises(BudgetExceeded):
        handle("deep-researcher", {"query": "a b c"}, FakeRunHost(), {"budget": {"tokens": 5}})


@pytest.mark.parametrize(
    ("inputs", "passed"),
    [
        ({"text": "so", "sources": ["a"]}, [True, True]),
        ({"text": "so"}, [True, False]),
        ({"text": " "}, [False, False]),
    ],
)
def test_the_critic(inputs: Json, passed: list[bool]) -> None:
    output = handle("fact-checker", inputs, FakeRunHost())
    assert [one["passed"] for one in output["checks"]] == passed
