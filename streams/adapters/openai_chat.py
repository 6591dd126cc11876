"""Endpoints with OpenAI's chat completions, hosted or your own, as agents.  The extra `openai`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from streams.adapters.extras import needs_library
from streams.adapters.handler import TEXT, Handler, Json, Options, handler_of, output_of
from streams.adapters.metering import Meter, Price
from streams.summit.serving.run import Run

with needs_library("openai"):
    from openai import AsyncOpenAI, Omit
    from openai.types.chat import ChatCompletion


def from_chat(
    base_url: str,
    model: str,
    *,
    system: str | None = None,
    api_key: str | None = None,
    response_format: Json | None = None,
    prices: Mapping[str, Price] | None = None,
    inputs: Callable[[Json], Any] | None = None,
    output: Callable[[Any], Any] | None = None,
    text: str = TEXT,
) -> Handler:
    """Return a handler for `serve_agent` that asks a chat endpoint once.

    base_url: up to the version, as `http://127.0.0.1:8000/v1`.  system: the message before the
    user's.  api_key: None sends none, also where the environment has one.  response_format: as the
    endpoint takes it; with a type of JSON the output is the object that the answer is.  prices,
    inputs, output, text: see docs/adapters.md.  Without `inputs` the user's text is the message;
    with them, they make it.
    """
    client = AsyncOpenAI(base_url=base_url, api_key=api_key or "none")
    wants_json = response_format is not None and response_format.get("type") != "text"
    more: Json = {} if response_format is None else {"response_format": response_format}
    if api_key is None:
        more["extra_headers"] = {"Authorization": Omit()}
    options = Options(prices, inputs, output, text, () if api_key is None else (api_key,))

    async def ask(argument: Any, run: Run, meter: Meter) -> Any:
        first = [] if system is None else [{"role": "system", "content": system}]
        messages: Any = [*first, {"role": "user", "content": argument}]
        answer = await client.chat.completions.create(model=model, messages=messages, **more)
        usage = answer.usage
        tokens = None if usage is None else (usage.prompt_tokens, usage.completion_tokens)
        meter.charge(answer.model, tokens, model)
        content = _content(answer)
        return json.loads(content) if wants_json else content

    return handler_of(ask, options, inputs=options.user_text, output=output_of)


def _content(answer: ChatCompletion) -> str:
    """Return the text of an answer.  Raises ValueError for one without."""
    message = answer.choices[0].message if answer.choices else None
    if message is None or message.content is None:
        reason = message.refusal if message is not None and message.refusal else "it has no text"
        raise ValueError(f"the model gave no answer: {reason}")
    return message.content
