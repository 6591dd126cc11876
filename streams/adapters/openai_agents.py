"""Agents of OpenAI's Agents SDK.  The extra `openai-agents`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streams.adapters.extras import needs_library
from streams.adapters.handler import TEXT, Handler, Json, Options, handler_of, output_of
from streams.adapters.metering import Meter, Price
from streams.summit.serving.run import Run

with needs_library("openai-agents"):
    from agents import Agent, Model, ModelResponse, RunConfig, RunHooks, Runner
    from agents.models import get_default_model


def from_agent(
    agent: Agent[Any],
    *,
    run_config: RunConfig | None = None,
    prices: Mapping[str, Price] | None = None,
    inputs: Callable[[Json], Any] | None = None,
    output: Callable[[Any], Any] | None = None,
    text: str = TEXT,
) -> Handler:
    """Return a handler for `serve_agent` that runs an agent to its final output.

    run_config: as the SDK takes it; without one its tracing is off, so that nothing goes to a
    tracing service unasked.  prices, inputs, output, text: see docs/adapters.md.
    Without `inputs` the agent gets the user's text.
    """
    config = run_config or RunConfig(tracing_disabled=True)
    options = Options(prices, inputs, output, text)

    async def invoke(argument: Any, run: Run, meter: Meter) -> Any:
        calls = _ModelCalls(meter, config.model)
        result = await Runner.run(agent, argument, run_config=config, hooks=calls)
        return result.final_output

    return handler_of(invoke, options, inputs=options.user_text, output=output_of)


class _ModelCalls(RunHooks[Any]):
    """Charges each model call as it ends.  model: that of the run, None for those of its agents."""

    def __init__(self, meter: Meter, model: str | Model | None) -> None:
        self._meter, self._model = meter, model

    async def on_llm_start(self, context: Any, agent: Agent[Any], *_: Any) -> None:
        self._meter.before_call()

    async def on_llm_end(self, context: Any, agent: Agent[Any], response: ModelResponse) -> None:
        tokens = (response.usage.input_tokens, response.usage.output_tokens)
        model = self._model if self._model is not None else agent.model
        self._meter.charge(None, tokens if any(tokens) else None, _name_of(model))


def _name_of(model: str | Model | None) -> str | None:
    if model is None:
        return get_default_model()
    name = model if isinstance(model, str) else getattr(model, "model", None)
    return name if isinstance(name, str) else None
