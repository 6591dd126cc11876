"""The handler that all adapters share: inputs in, model calls charged, output and errors out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from streams.adapters.hiding import hide_secrets
from streams.adapters.metering import Meter, Price
from streams.summit.errors import AgentError, BudgetExceeded
from streams.summit.serving.handlers import ERROR_CODE, AgentResult
from streams.summit.serving.run import Run

Json = dict[str, Any]
Handler = Callable[[Json, Run], Awaitable[AgentResult]]
TEXT = "text"
"""The member of an output that is one text."""


@dataclass(frozen=True)
class Options:
    """Holds what callers may set of any adapter.

    prices: USD by model, None for none.  inputs: makes what the library takes of a run's inputs;
    output: makes the output of what the library gives; None for the adapter's own.  text: the
    member of the inputs that holds the user's text.  secrets: texts that no error shows.
    """

    prices: Mapping[str, Price] | None = None
    inputs: Callable[[Json], Any] | None = None
    output: Callable[[Any], Any] | None = None
    text: str = TEXT
    secrets: Sequence[str] = ()

    def user_text(self, inputs: Json) -> str:
        """Return the user's text.  Raises ValueError where the inputs have none."""
        value = inputs.get(self.text)
        if not isinstance(value, str):
            raise ValueError(f"the inputs have no text in `{self.text}`; give `text=` or `inputs=`")
        return value


def handler_of(
    call: Callable[[Any, Run, Meter], Awaitable[Any]],
    options: Options,
    *,
    inputs: Callable[[Json], Any],
    output: Callable[[Any], Any],
) -> Handler:
    """Return a handler for `serve_agent`.

    call: calls the library with what it takes, and reports each model call to the meter.  inputs,
    output: what holds where the options have none.  An error of the library becomes an error reply
    of code 1 without secrets in it; a broken budget stays one.
    """
    read, write = options.inputs or inputs, options.output or output

    async def handle(of_run: Json, run: Run) -> AgentResult:
        meter = Meter(run, options.prices)
        try:
            value = await call(read(of_run), run, meter)
            meter.before_call()
            return AgentResult(write(value), model=meter.model, provenance=meter.provenance())
        except (BudgetExceeded, AgentError):
            raise
        except Exception as exc:
            raise _failure(exc, meter, options.secrets) from exc

    return handle


def _failure(error: Exception, meter: Meter, secrets: Sequence[str]) -> Exception:
    """Return what a run fails with: what the meter raised, where a library has wrapped it."""
    try:
        meter.before_call()
    except BudgetExceeded as exc:
        return exc
    except Exception as exc:
        error = exc
    text = hide_secrets(f"{type(error).__name__}: {error}", secrets)
    return AgentError(ERROR_CODE, text, provenance=meter.provenance())


def output_of(value: Any) -> Any:
    """Return the output for what a library gives: a text, a pydantic model or a mapping.

    Raises TypeError for anything else.
    """
    if isinstance(value, str):
        return {TEXT: value}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"no output can be made of {type(value).__name__}; give `output=`")
