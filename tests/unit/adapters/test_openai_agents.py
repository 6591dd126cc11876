"""Agents of the Agents SDK, with its own scripted model."""

from __future__ import annotations

from typing import Any

from agents import Agent, RunConfig, Usage, function_tool
from agents.testing import ModelStep, ScriptedModel
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from pydantic import BaseModel

from streams.adapters import Price
from streams.adapters.openai_agents import from_agent
from tests.unit.adapters.support import final_of, made

USAGE = Usage(requests=1, input_tokens=100, output_tokens=20, total_tokens=120)
PRICES = {"*": Price("0.15", "0.60")}


def says(text: str, usage: Usage = USAGE) -> ModelStep:
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    message = ResponseOutputMessage(
        id="m-1", content=[part], role="assistant", status="completed", type="message"
    )
    return ModelStep(output=[message], usage=usage)


def calls(name: str, arguments: str = "{}") -> ModelStep:
    call = ResponseFunctionToolCall(
        arguments=arguments, call_id="c-1", name=name, type="function_call"
    )
    return ModelStep(output=[call], usage=USAGE)


def scripted(*steps: ModelStep, **more: Any) -> Agent[Any]:
    return Agent(name="clerk", model=ScriptedModel(list(steps)), **more)


def test_the_final_output_is_the_output() -> None:
    final = final_of(from_agent(scripted(says("Yes.")), prices=PRICES), {"text": "Is it?"})
    assert (final["kind"], final["output"]) == ("result", {"text": "Yes."})
    assert final["metrics"]["tokens"] == 120
    assert final["metrics"]["cost_usd"] == 0.000027
    assert made(final)["model"] == "unknown"


def test_a_model_of_the_run_is_named() -> None:
    config = RunConfig(tracing_disabled=True, model=ScriptedModel([says("a")]))
    agent: Agent[Any] = Agent(name="clerk", model="small-1")
    final = final_of(from_agent(agent, run_config=config), {"text": "b"})
    assert (made(final)["model"], made(final)["priced"]) == ("unknown", False)


class Verdict(BaseModel):
    sure: bool


def test_an_output_of_a_type_is_its_json() -> None:
    agent = scripted(says('{"sure": true}'), output_type=Verdict)
    assert final_of(from_agent(agent), {"text": "b"})["output"] == {"sure": True}


def test_a_broken_budget_stops_before_the_next_call() -> None:
    done: list[str] = []

    @function_tool
    def look() -> str:
        done.append("look")
        return "seen"

    agent = scripted(calls("look"), calls("look"), says("never"), tools=[look])
    final = final_of(from_agent(agent), {"text": "b"}, {"tokens": 200})
    assert (final["status"], final["metrics"]["tokens"]) == ("budget_exceeded", 240)
    assert len(done) == 1


def test_a_model_that_reports_no_tokens_is_noted() -> None:
    agent = scripted(says("a", Usage()), says("a", Usage()))
    final = final_of(from_agent(agent), {"text": "b"})
    assert made(final)["usage"] == "missing"
    final = final_of(from_agent(agent), {"text": "b"}, {"usd": 1})
    assert final["error"]["message"].startswith("UsageMissing: ")


def test_an_error_of_the_model_is_the_runs() -> None:
    error = RuntimeError("no such key: sk-proj-abcdefghijklmnopqrstuvwxyz012345")
    final = final_of(from_agent(scripted(ModelStep.raise_error(error))), {"text": "b"})
    assert final["error"]["message"].startswith("RuntimeError: no such key: ")
    assert "abcdefghij" not in final["error"]["message"]


def test_inputs_without_the_users_text_say_so() -> None:
    final = final_of(from_agent(scripted(says("a"))), {"question": "b"})
    assert "no text in `text`" in final["error"]["message"]
    final = final_of(from_agent(scripted(says("a")), text="question"), {"question": "b"})
    assert final["output"] == {"text": "a"}
