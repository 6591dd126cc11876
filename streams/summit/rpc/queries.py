"""The methods that are answered from the views (Summit guide, 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from schemas.summit import mcp_tool, rules
from streams.errors import InfrastructureError, NotFound
from streams.protocols.summit.queries import agents, runs
from streams.summit.rpc.errors import RpcError, service_unavailable
from streams.summit.rpc.host import Reader
from streams.summit.rpc.requests import Request
from streams.views.parse import QueryError
from streams.views.reads import ReadOnlyStore

Json = dict[str, Any]
LIMIT = 100


async def answer(host: Reader, request: Request) -> Json:
    """Answer a query from the views.  Raises RpcError."""
    look, params = _QUERIES[request.method], request.params
    try:
        return await host.read(lambda view: look(view, params), params.get("after"))
    except QueryError as exc:
        path = f"/params/{exc.problems[0].path}"
        raise RpcError(rules.PARAMS_SHAPE.code, exc.problems[0].message, path=path) from exc
    except NotFound as exc:
        raise RpcError(exc.rule, exc.message, runId=params.get("runId")) from exc
    except InfrastructureError as exc:
        raise service_unavailable(str(exc)) from exc


def _status(view: ReadOnlyStore, params: Json) -> Json:
    run_id, agent_id = params.get("runId"), params.get("agentId")
    if run_id is None:
        return agents.status(view, str(agent_id))
    status = runs.run_status(view, run_id)
    if agent_id is not None and status["agentId"] != agent_id:
        detail = f"run {run_id} is not one of {agent_id}"
        raise RpcError(rules.CANCEL_AGENT.code, detail, path="/params/agentId", runId=run_id)
    return status


def _schema(view: ReadOnlyStore, params: Json) -> Json:
    row = agents.agent(view, params["agentId"], params.get("version"))
    spec = row["manifest"]["spec"]
    return {
        "agentId": row["agentId"],
        "version": row["version"],
        "inputSchema": spec["interface"]["inputSchema"],
        "outputSchema": spec["interface"]["outputSchema"],
        "tools": spec.get("tools", []),
        "manifestHash": row["manifestHash"],
    }


def _agents(view: ReadOnlyStore, params: Json) -> Json:
    filters: dict[str, str] = {
        name: params[name] for name in ("role", "capability") if name in params
    }
    page = agents.agents_page(view, {**filters, "state": agents.REGISTERED}, *_page(params))
    return {"agents": [_brief(row) for row in page["items"]], "nextCursor": page["next"]}


def _brief(row: Json) -> Json:
    manifest = row["manifest"]
    return {
        "agentId": row["agentId"],
        "version": row["version"],
        "role": manifest["spec"]["role"],
        "description": manifest["metadata"].get("description"),
        "capabilities": manifest["spec"]["capabilities"],
        "tools": [tool["name"] for tool in manifest["spec"].get("tools", [])],
        "manifestHash": row["manifestHash"],
    }


def _tools(view: ReadOnlyStore, params: Json) -> Json:
    page = agents.tools(view, params.get("agentId"), *_page(params))
    tools = page["items"]
    if params.get("dialect") == "mcp":
        tools = [{"agentId": tool.pop("agentId"), **mcp_tool(tool)} for tool in tools]
    return {"tools": tools, "nextCursor": page["next"]}


def _page(params: Json) -> tuple[int, str | None]:
    return params.get("limit", LIMIT), params.get("cursor")


_QUERIES: Mapping[str, Callable[[ReadOnlyStore, Json], Json]] = {
    "agent.status": _status,
    "agent.schema": _schema,
    "agent.list": _agents,
    "tool.list": _tools,
}
