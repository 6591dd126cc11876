"""Tests of which methods each version has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import httpx2

from tests.unit.doors.mcp.bench import ACCEPT, MODERN, URL, Json, mcp_bench

OLDER = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
NOT_FOUND = -32601
NEW_ONLY = ("server/discover", "tasks/get", "tasks/update", "tasks/cancel", "subscriptions/listen")
OLD_ONLY = ("initialize", "ping")
RULE: Json = {"ref": {"type": "ref/resource", "uri": "headrace://rule/{rule}"}}
REQUESTS: Mapping[str, Json] = {
    "server/discover": {},
    "initialize": {"capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
    "ping": {},
    "tools/list": {},
    "tools/call": {"name": "validate", "arguments": {"kind": "apc.packet", "envelope": {}}},
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": "headrace://topics"},
    "prompts/list": {},
    "prompts/get": {"name": "none"},
    "completion/complete": {**RULE, "argument": {"name": "rule", "value": "t"}},
    "subscriptions/listen": {"notifications": "none"},
    "tasks/get": {"taskId": "none"},
    "tasks/update": {"taskId": "none"},
    "tasks/cancel": {"taskId": "none"},
    "events/list": {},
    "events/poll": {"name": "none"},
    "events/stream": {"name": "none"},
    "events/subscribe": {"name": "none", "delivery": {}},
    "events/unsubscribe": {"name": "none", "delivery": {}},
    "resources/subscribe": {"uri": "headrace://topics"},
    "logging/setLevel": {"level": "info"},
}
"""What each method is asked; those that stay open are asked for what there is not."""
NEVER = ("resources/subscribe", "logging/setLevel")


async def ask(http: httpx2.AsyncClient, method: str, version: str) -> Json:
    """Return the response to one request at a version, with its HTTP status."""
    params, headers = dict(REQUESTS[method]), {"content-type": "application/json"}
    if version == MODERN:
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        headers["mcp-method"] = method
        name = params.get("name", params.get("uri", params.get("taskId")))
        headers |= {"mcp-name": name} if name is not None else {}
    elif method == "initialize":
        params["protocolVersion"] = version
    headers |= {"accept": ACCEPT, "mcp-protocol-version": version}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    response = await http.post(URL, content=body.encode(), headers=headers)
    lines = [line for line in response.text.splitlines() if line.startswith("data: {")]
    answer: Json = json.loads(lines[-1].removeprefix("data: ") if lines else response.text)
    return {**answer, "status": response.status_code}


def test_each_version_has_its_methods(tmp_path: Path) -> None:
    async def work(http: httpx2.AsyncClient) -> dict[tuple[str, str], Json]:
        return {
            (method, version): await ask(http, method, version)
            for method in REQUESTS
            for version in (MODERN, *OLDER)
        }

    with mcp_bench(tmp_path) as bench:
        answers = bench.serve(work)
    for (method, version), answer in answers.items():
        is_there = method not in (*NEVER, *(OLD_ONLY if version == MODERN else NEW_ONLY))
        code = answer.get("error", {}).get("code")
        assert (code != NOT_FOUND) is is_there, (method, version, answer)
        if version == MODERN and not is_there:
            assert answer["status"] == 404, (method, answer)
    assert_described(answers["server/discover", MODERN]["result"])
    for version in OLDER:
        assert_described_to_older(answers["initialize", version]["result"], version)


def assert_described(result: Json) -> None:
    assert (result["ttlMs"], result["cacheScope"]) == (3_600_000, "public")
    assert result["capabilities"] == {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "prompts": {"listChanged": False},
        "completions": {},
        "extensions": {f"io.modelcontextprotocol/{each}": {} for each in ("tasks", "events")},
        "events": {"listChanged": False},
    }


def assert_described_to_older(result: Json, version: str) -> None:
    assert result["protocolVersion"] == version
    assert result["capabilities"] == {
        "tools": {"listChanged": False},
        "resources": {"subscribe": False, "listChanged": False},
        "prompts": {"listChanged": False},
        "completions": {},
        "events": {"listChanged": False},
    }


def test_who_asks_for_a_version_that_there_is_not_gets_the_newest_older_one(tmp_path: Path) -> None:
    async def work(http: httpx2.AsyncClient) -> str:
        params = {**REQUESTS["initialize"], "protocolVersion": "1999-01-01"}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        headers = {"content-type": "application/json", "accept": ACCEPT}
        response = await http.post(URL, content=body.encode(), headers=headers)
        (line,) = (line for line in response.text.splitlines() if line.startswith("data: {"))
        version: str = json.loads(line.removeprefix("data: "))["result"]["protocolVersion"]
        return version

    with mcp_bench(tmp_path) as bench:
        assert bench.serve(work) == OLDER[0]
