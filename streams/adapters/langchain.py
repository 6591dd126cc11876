"""Runnables of LangChain as agents: chains, chat models, agents.  The extra `langchain`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from streams.adapters.extras import needs_library
from streams.adapters.handler import TEXT, Handler, Json, Options, handler_of, output_of
from streams.adapters.metering import Meter, Price
from streams.summit.serving.run import Run

with needs_library("langchain"):
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.outputs import ChatGeneration, LLMResult
    from langchain_core.runnables import Runnable


def from_runnable(
    runnable: Runnable[Any, Any],
    *,
    prices: Mapping[str, Price] | None = None,
    inputs: Callable[[Json], Any] | None = None,
    output: Callable[[Any], Any] | None = None,
    text: str = TEXT,
) -> Handler:
    """Return a handler for `serve_agent` that invokes a runnable.

    prices, inputs, output, text: see docs/adapters.md.  Without `inputs` the runnable takes the
    run's inputs as they are.  Without `output` a text or a message becomes `{"text": …}`, a
    pydantic model or a mapping the object that it is.
    """

    async def invoke(argument: Any, run: Run, meter: Meter) -> Any:
        return await runnable.ainvoke(argument, config={"callbacks": [ModelCalls(meter)]})

    options = Options(prices, inputs, output, text)
    return handler_of(invoke, options, inputs=dict, output=message_output)


def message_output(value: Any) -> Any:
    """Return the output for what a runnable gives.  Raises TypeError where there is none."""
    return {TEXT: str(value.text)} if isinstance(value, BaseMessage) else output_of(value)


class ModelCalls(BaseCallbackHandler):
    """Charges each model call as it ends, in whichever thread.

    It is no async handler, whose errors LangChain swallows inside synchronous nodes.
    """

    raise_error = run_inline = True

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter
        self._requested: dict[UUID, str | None] = {}
        """The name by which each running call's model was called."""

    def on_chat_model_start(self, serialized: Any, messages: Any, **call: Any) -> None:
        self._begin(**call)

    def on_llm_start(self, serialized: Any, prompts: Any, **call: Any) -> None:
        self._begin(**call)

    def _begin(self, *, run_id: UUID, metadata: Json | None = None, **_: Any) -> None:
        self._meter.before_call()
        self._requested[run_id] = (metadata or {}).get("ls_model_name")

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        requested = self._requested.pop(run_id, None)
        model, usage = _answered(response)
        self._meter.charge(model, usage, requested)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._requested.pop(run_id, None)


def _answered(response: LLMResult) -> tuple[str | None, tuple[int, int] | None]:
    """Return the model that a call's answer names, and its input and output tokens."""
    first = response.generations[0][0] if response.generations and response.generations[0] else None
    if isinstance(first, ChatGeneration) and isinstance(message := first.message, AIMessage):
        metadata = message.response_metadata
        model = metadata.get("model_name") or metadata.get("model")
        usage = message.usage_metadata
        return model, usage and (usage["input_tokens"], usage["output_tokens"])
    of_text = response.llm_output or {}
    counts = of_text.get("token_usage") or {}
    names = ("prompt_tokens", "completion_tokens")
    usage_of_text = (counts[names[0]], counts[names[1]]) if set(names) <= set(counts) else None
    return of_text.get("model_name"), usage_of_text
