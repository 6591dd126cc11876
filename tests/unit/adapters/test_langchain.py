"""Runnables as agents, with LangChain's own made-up models."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.language_models.llms import LLM
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from pydantic import BaseModel

from streams.adapters import Price
from streams.adapters.langchain import from_runnable
from tests.unit.adapters.support import Json, final_of, made
from tests.unit.summit.support import Agent, invoke, stop

PRICES = {"small-1": Price(input="0.15", output="0.60")}
PROMPT = ChatPromptTemplate.from_messages([("system", "Be short."), ("user", "{text}")])


def answering(*texts: str, model: str | None = "small-1", usage: bool = True) -> Any:
    return GenericFakeChatModel(messages=iter([answer(text, model, usage) for text in texts]))


def answer(text: str, model: str | None = "small-1", usage: bool = True) -> AIMessage:
    tokens: Any = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
    named = {} if model is None else {"model_name": model}
    return AIMessage(
        content=text, response_metadata=named, usage_metadata=tokens if usage else None
    )


def test_a_chain_answers_and_says_what_it_cost() -> None:
    final = final_of(from_runnable(PROMPT | answering("Yes."), prices=PRICES), {"text": "Is it?"})
    assert (final["kind"], final["output"]) == ("result", {"text": "Yes."})
    assert final["metrics"]["tokens"] == 120
    assert final["metrics"]["cost_usd"] == 0.000027
    call = {"model": "small-1", "calls": 1, "input_tokens": 100, "output_tokens": 20}
    assert made(final) == {"model": "small-1", "models": [{**call, "cost_usd": 0.000027}]}


def test_a_model_that_reports_nothing_is_noted() -> None:
    model = FakeListChatModel(responses=["a"])
    final = final_of(from_runnable(PROMPT | model), {"text": "b"})
    assert final["output"] == {"text": "a"}
    assert (made(final)["usage"], made(final)["priced"]) == ("missing", False)
    final = final_of(from_runnable(PROMPT | model), {"text": "b"}, {"usd": 1})
    assert (final["status"], final["error"]["code"]) == ("failed", 1)
    assert final["error"]["message"].startswith("UsageMissing: ")


class Verdict(BaseModel):
    text: str
    sure: bool


@pytest.mark.parametrize(
    ("value", "output"),
    [
        ("words", {"text": "words"}),
        (answer("words"), {"text": "words"}),
        (AIMessage(content=[{"type": "text", "text": "a"}, {"type": "image"}]), {"text": "a"}),
        (Verdict(text="a", sure=True), {"text": "a", "sure": True}),
        ({"n": 1}, {"n": 1}),
    ],
)
def test_outputs(value: Any, output: Json) -> None:
    final = final_of(from_runnable(RunnableLambda(lambda _: value)), {"n": 0})
    assert final["output"] == output
    assert made(final)["model"] == "none"


def test_what_is_no_output_fails_and_says_how_to_make_one() -> None:
    final = final_of(from_runnable(RunnableLambda(lambda _: 7)), {})
    assert final["error"]["message"] == "TypeError: no output can be made of int; give `output=`"
    doubled = from_runnable(
        RunnableLambda(lambda n: n * 2), inputs=lambda i: i["n"], output=lambda n: {"n": n}
    )
    assert final_of(doubled, {"n": 3})["output"] == {"n": 6}


def test_a_broken_budget_stops_the_next_call() -> None:
    calls: list[str] = []

    def twice(inputs: Json, config: Any) -> str:
        model = answering("one", "two", "three")
        for _ in range(3):
            calls.append("call")
            model.invoke("go", config)
        return "done"

    final = final_of(from_runnable(RunnableLambda(twice)), {}, {"tokens": 150})
    assert final["status"] == "budget_exceeded"
    assert final["metrics"]["tokens"] == 240
    assert len(calls) == 2


def test_a_library_that_goes_on_after_a_broken_budget_does_not_answer() -> None:
    """A fallback takes the error for one of the model, and asks another."""
    first, second = answering("one"), answering("two")
    chain = PROMPT | first.with_fallbacks([second])
    final = final_of(from_runnable(chain), {"text": "a"}, {"tokens": 50})
    assert final["status"] == "budget_exceeded"
    assert final["metrics"]["tokens"] == 120, "the second was not called"


def test_an_error_of_the_library_hides_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDER_API_KEY", "own-format-of-a-key")

    def fail(_: Any) -> None:
        raise RuntimeError("401 for own-format-of-a-key: Authorization: Bearer abcdefgh12345678")

    final = final_of(from_runnable(RunnableLambda(fail)), {})
    assert (final["status"], final["error"]["code"]) == ("failed", 1)
    message = final["error"]["message"]
    assert message.startswith("RuntimeError: 401 for [REDACTED]: ")
    assert "abcdefgh12345678" not in message


class Text(LLM):
    """A model of texts, not of chats."""

    @property
    def _llm_type(self) -> str:
        return "text"

    def _call(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> str:
        return prompt.upper()


def test_a_model_of_texts_is_one_too() -> None:
    final = final_of(from_runnable(Text(), inputs=lambda inputs: inputs["text"]), {"text": "a"})
    assert final["output"] == {"text": "A"}
    assert made(final)["usage"] == "missing"


def test_the_handler_is_cancelled_with_what_it_awaits() -> None:
    seen: list[str] = []

    async def wait(_: Any) -> None:
        try:
            seen.append("began")
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1", {"text": "a"}))
        await agent.until(lambda: seen)
        agent.inbox.put(stop("run-1"))
        await agent.until(lambda: len(seen) == 2)

    Agent(from_runnable(RunnableLambda(wait))).tell(story)
    assert seen == ["began", "cancelled"]


def test_several_models_are_named_in_order() -> None:
    async def both(_: Any, config: Any) -> BaseMessage:
        await answering("a", model="big-1").ainvoke("x", config)
        message: BaseMessage = await answering("b").ainvoke("x", config)
        return message

    final = final_of(from_runnable(RunnableLambda(both), prices={"*": Price("1", "1")}), {})
    assert made(final)["model"] == "big-1, small-1"
