"""Graphs of LangGraph as agents.  The extra `langgraph`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streams.adapters.extras import needs_library
from streams.adapters.handler import TEXT, Handler, Json, Options, handler_of, output_of
from streams.adapters.metering import Meter, Price
from streams.summit.serving.run import Run

with needs_library("langgraph"):
    from langgraph.pregel import Pregel

    from streams.adapters.langchain import ModelCalls, message_output

MESSAGES = "messages"
_INTERRUPTED = "__interrupt__"
_MAX_NAME_CHARS = 200


def from_graph(
    graph: Pregel[Any, Any, Any, Any],
    *,
    prices: Mapping[str, Price] | None = None,
    inputs: Callable[[Json], Any] | None = None,
    output: Callable[[Any], Any] | None = None,
    text: str = TEXT,
) -> Handler:
    """Return a handler for `serve_agent` that runs a compiled graph.

    prices, inputs, output, text: see docs/adapters.md.  Each node that finishes is a progress
    message of the run.  Without `inputs` a graph whose state has `messages` gets the user's text
    as one, and any other graph the run's inputs.  Without `output` the text of the last message is
    the output, and of a graph without messages its state.  A graph that interrupts itself to ask a
    person fails the run: a run of Summit takes no second message.
    """
    has_messages = MESSAGES in graph.channels
    options = Options(prices, inputs, output, text)

    def read(of_run: Json) -> Any:
        if has_messages and isinstance(of_run.get(text), str):
            return {MESSAGES: [("user", of_run[text])]}
        return of_run

    async def stream(argument: Any, run: Run, meter: Meter) -> Any:
        state: Any = None
        calls: Any = {"callbacks": [ModelCalls(meter)]}
        async for mode, chunk in graph.astream(argument, calls, stream_mode=["updates", "values"]):
            if mode == "values":
                state = chunk
                continue
            if _INTERRUPTED in chunk:
                raise RuntimeError("the graph was interrupted, and a run takes no second message")
            for node in chunk:
                run.progress(f"{node[:_MAX_NAME_CHARS]} has finished")
        return state

    return handler_of(stream, options, inputs=read, output=_state_output)


def _state_output(state: Any) -> Any:
    if isinstance(state, Mapping) and state.get(MESSAGES):
        return message_output(state[MESSAGES][-1])
    return output_of(state)
