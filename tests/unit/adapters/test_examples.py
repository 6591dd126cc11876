"""The programs of docs/adapters.md, each run with a made-up model."""

from __future__ import annotations

import ast
import asyncio
import re
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import headrace
from tests.unit.adapters.support import Json, final_of
from tests.unit.adapters.test_langchain import answering
from tests.unit.adapters.test_openai_agents import says, scripted
from tests.unit.adapters.test_openai_chat import says as says_over_http
from tests.unit.adapters.test_openai_chat import serving

TEXT = (Path(__file__).parents[3] / "docs/adapters.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def handler_of(program: str, **names: Any) -> Any:
    """Return the handler with which a program serves an agent."""
    served: list[Any] = []

    async def serve_agent(manifest: str, handler: Any) -> None:
        assert manifest == "agent.yaml"
        served.append(handler)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(headrace, "serve_agent", serve_agent)
        namespace: Json = dict(names)
        code: CodeType = compile(
            program, "docs/adapters.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
        )
        asyncio.run(eval(code, namespace))
    (handler,) = served
    return handler


def test_each_library_has_a_program_of_at_most_fifteen_lines() -> None:
    assert len(PROGRAMS) == 4
    for program in PROGRAMS:
        assert len([line for line in program.splitlines() if line]) <= 15


@pytest.mark.parametrize("program", PROGRAMS[:2])
def test_programs_with_langchain(program: str) -> None:
    final = final_of(handler_of(program, model=answering("Yes.")), {"text": "Is it?"})
    assert (final["output"], final["metrics"]["tokens"]) == ({"text": "Yes."}, 120)


def test_the_program_with_the_agents_sdk() -> None:
    model = scripted(says("Yes.")).model
    final = final_of(handler_of(PROGRAMS[2], model=model), {"text": "Is it?"})
    assert (final["output"], final["metrics"]["tokens"]) == ({"text": "Yes."}, 120)


def test_the_program_with_an_endpoint() -> None:
    with serving() as endpoint:
        endpoint.answers = [says_over_http("Yes.")]
        program = PROGRAMS[3].replace("http://127.0.0.1:8000/v1", endpoint.url)
        final = final_of(handler_of(program), {"text": "Is it?"})
        assert (final["output"], final["metrics"]["tokens"]) == ({"text": "Yes."}, 120)
