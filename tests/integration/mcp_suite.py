"""A build for tests: what the conformance suite of MCP wants of a server, and no other server has.

`python -m tests.integration.mcp_suite agent` serves its tools, as a Summit agent;
`python -m tests.integration.mcp_suite gateway OPTION…` is a gateway that shows tools of agents
under their own names, without that of the agent.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from schemas.summit import load_manifest
from streams import serve_agent
from streams.agents.stopping import until_stopped
from streams.api.agent_tools import AgentTool
from streams.doors.mcp import agents

Json = dict[str, Any]
AGENT = "suite"
_TASK_S = 4.0
"""How long a run takes that is to become a task."""


async def greet(arguments: Json, run: Any) -> Json:
    return {"greeting": f"Hello, {arguments.get('name')}!"}


async def slow_compute(arguments: Json, run: Any) -> Json:
    seconds = arguments.get("seconds") or 0
    await asyncio.sleep(seconds and max(seconds, _TASK_S))
    return {"label": arguments.get("label")}


async def failing_job(arguments: Json, run: Any) -> Json:
    await asyncio.sleep(_TASK_S)
    raise RuntimeError("the job has failed")


TOOLS = {
    "greet": greet,
    "slow_compute": slow_compute,
    "failing_job": failing_job,
    "protocol_error_job": failing_job,
}


def make_manifest() -> Json:
    anything = {"type": "object"}
    return {
        "apiVersion": "summit.io/v1",
        "kind": "Agent",
        "metadata": {"name": AGENT, "version": "1.0.0", "description": "Tools of the suite."},
        "spec": {
            "role": "x-suite",
            "capabilities": ["suite:tools"],
            "interface": {"inputSchema": anything, "outputSchema": anything},
            "tools": [{"name": name, "description": name, "arguments": anything} for name in TOOLS],
        },
    }


def _bare_name(tool: AgentTool) -> str:
    return f"run_{tool.agent_id}" if tool.name is None else tool.name


def main() -> None:
    if sys.argv[1] == "gateway":
        from streams.cli import main as run_command

        agents.name_of = _bare_name
        run_command()
        return
    manifest = load_manifest(json.dumps(make_manifest()))
    serving = serve_agent(
        manifest, greet, tools=TOOLS, on_ready=lambda: print("agent suite", flush=True)
    )
    asyncio.run(until_stopped(serving))


if __name__ == "__main__":
    main()
