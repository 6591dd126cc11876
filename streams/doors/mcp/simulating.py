"""The tool `simulate`: runs a scenario of `headrace play` in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

import streams
from streams.doors.mcp import scenario
from streams.doors.mcp.door import Door, ToolCall
from streams.doors.mcp.results import RESULT_TOO_LARGE, Json, refused, tool_result
from streams.gateway.http_response import dump_json
from streams.settings.composed import BY_ENV, BY_FIELD
from streams.settings.service import PREFIX
from streams.settings.values import Declaration

MOST_BYTES = 262_144
_SECONDS = 60.0
"""How long a run may take on a busy machine; of processor time it has less (`scenario`)."""
_FAILED = "simulation_failed"
_CHUNK = 1 << 16
_HARMLESS = ("whole number", "decimal", "true or false")
_ROOT = Path(streams.__file__).parents[1]


async def simulate(call: ToolCall) -> Json:
    """Run the lines and return the output lines.  Raises ToolRefused."""
    settings = _check_settings(call.arguments["settings"])
    order = dump_json({"lines": call.arguments["lines"], "settings": settings})
    if len(order) > MOST_BYTES:
        detail = f"a scenario has at most {MOST_BYTES} bytes"
        raise refused(422, detail, _FAILED, "/lines")
    door = call.door
    if door.simulations.locked():
        limit = door.settings.mcp_simulations
        raise refused(429, f"{limit} scenarios are running; ask again", "simulations_busy")
    async with door.simulations:
        answer = await _run(door, order)
    if "error" in answer:
        raise refused(422, answer["error"], _FAILED, "/lines")
    return tool_result({"lines": answer["lines"]})


def _check_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of a run by variable.  Raises ToolRefused for one it may not change."""
    texts = {}
    for name, value in settings.items():
        variable = name if name.startswith(PREFIX) else PREFIX + name
        field = BY_ENV.get(variable)
        if field is None or not _may_change(BY_FIELD[field]):
            detail = f"{variable} is no setting that a simulation may change"
            raise refused(422, detail, "setting_refused", f"/settings/{name}")
        texts[variable] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


def _may_change(declaration: Declaration) -> bool:
    """Return whether a setting names no file, no address and no key."""
    is_harmless = declaration.kind in _HARMLESS or bool(declaration.choices)
    return is_harmless and not declaration.secret


async def _run(door: Door, order: bytes) -> Json:
    """Run the order in a process without addresses, tokens or keys.  Raises ToolRefused."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        scenario.__name__,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=_ROOT,
        env={"PYTHONPATH": str(_ROOT)},
    )
    try:
        async with asyncio.timeout(_SECONDS):
            output = await _exchange(process, order, door.settings.mcp_max_result_bytes)
    except TimeoutError as exc:
        detail = f"the scenario did not end within {_SECONDS:.0f} s"
        raise refused(422, detail, _FAILED, "/lines") from exc
    finally:
        await end(process)
    try:
        answer: Json = orjson.loads(output)
    except orjson.JSONDecodeError as exc:
        detail = "the scenario ended without an answer, as one above its memory does"
        raise refused(422, detail, _FAILED, "/lines") from exc
    return answer


async def end(process: Process) -> None:
    """Kill a process if it lives, and wait for its end.

    Python waits for the end of the pipe too, so what is left in it, at most its size, is read.
    """
    if process.returncode is None:
        process.kill()
        while process.stdout is not None and await process.stdout.read(_CHUNK):
            pass
        await process.wait()


async def _exchange(process: Process, order: bytes, most_bytes: int) -> bytes:
    """Return what a process answers to an order, which it reads first.

    Raises ToolRefused once the answer is above the limit: the rest is never read.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(order)
    with suppress(ConnectionError):  # it has ended, and the answer says so
        await process.stdin.drain()
    process.stdin.close()
    output = bytearray()
    while chunk := await process.stdout.read(_CHUNK):
        output += chunk
        if len(output) > most_bytes:
            detail = f"the output of the scenario has more than the {most_bytes} bytes allowed"
            raise refused(413, detail, RESULT_TOO_LARGE, "/lines")
    await process.wait()
    return bytes(output)
