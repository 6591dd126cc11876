"""Tests of the import of MCP servers that send too much."""

from __future__ import annotations

import json
import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from streams.doors.mcp import foreign_http, foreign_server
from streams.doors.mcp.foreign_server import ServerUnreachable, describe

Json = dict[str, Any]
HELLO: Json = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "hostile", "version": "1.0.0"},
}
TOOL: Json = {"name": "t", "inputSchema": {"type": "object"}}


@contextmanager
def served(**members: Any) -> Iterator[str]:
    """Serve an MCP server; yield its address.  members: of its handler."""
    handler = type("Handler", (Handler,), members)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join()


class Handler(BaseHTTPRequestHandler):
    """A server of an endless list, each page of which has some tools.

    body: what it answers with instead, again and again.  coding: of its content, if any.
    """

    tools: tuple[Json, ...] = ()
    body = b""
    coding = ""

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.body:
            self._answer_for_ever()
            return
        if "id" not in message:
            self.send_response(202)
            self.end_headers()
            return
        answers = {
            "initialize": HELLO,
            "tools/list": {"tools": self.tools, "nextCursor": f"after {message['id']}"},
        }
        answer: Json = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] in answers:
            answer["result"] = answers[message["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "no such method"}
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def _answer_for_ever(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        if self.coding:
            self.send_header("content-encoding", self.coding)
        self.end_headers()
        try:
            while True:
                self.wfile.write(self.body)
        except OSError:
            self.close_connection = True

    def do_GET(self) -> None:
        self.send_error(405)

    do_DELETE = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of requests."""


@pytest.mark.parametrize(
    ("coding", "reason"), [("", "more than 1048576 bytes"), ("gzip", "compressed")]
)
def test_an_endless_response_is_read_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch, coding: str, reason: str
) -> None:
    monkeypatch.setattr(foreign_http, "MOST_BYTES", 1 << 20)
    refused = pytest.raises(ServerUnreachable, match=reason)
    with served(body=b" " * 65_536, coding=coding) as url, refused:
        describe(url)


@pytest.mark.parametrize("tools", [(), (TOOL, TOOL, TOOL)])
def test_an_endless_list_is_read_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch, tools: tuple[Json, ...]
) -> None:
    monkeypatch.setattr(foreign_server, "MAX_TOOLS", 10)
    with served(tools=tools) as url:
        assert len(describe(url).tools) == (10 if tools else 0)


def test_the_endless_output_of_a_command_is_read_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Check a line without an end, which the SDK would keep whole."""
    monkeypatch.setattr(foreign_server, "MOST_BYTES", 1 << 20)
    code = "import sys\nwhile sys.stdout.write('x' * 65_536): pass"
    lines: list[str] = []
    with pytest.raises(ServerUnreachable, match="closed"):
        describe(shlex.join([sys.executable, "-c", code]), show=lines.append)
    assert "the server sends more than 1048576 bytes" in lines


def test_a_command_that_there_is_not_is_named() -> None:
    with pytest.raises(ServerUnreachable, match="there is no command 'no-such-command'"):
        describe("no-such-command --mcp")
