"""A gateway that answers every request alike, for tests of what commands ask."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class StubGateway(ThreadingHTTPServer):
    """A gateway that answers every request alike.  requests: paths with queries, and tokens.

    posted: the bodies of requests.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.kind = 200, "application/json"
        self.body: dict[str, Any] | bytes = {"from": "gateway"}
        self.requests: list[tuple[str, str | None]] = []
        self.posted: list[Any] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def refuse(self, status: int, rule: str, **members: Any) -> None:
        self.status, self.kind = status, "application/problem+json"
        self.body = {"status": status, "detail": "It is so.", "rule": rule, **members}


class Handler(BaseHTTPRequestHandler):
    server: StubGateway

    def do_POST(self) -> None:
        self.server.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.do_GET()

    def do_GET(self) -> None:
        self.server.requests.append((self.path, self.headers["Authorization"]))
        self.send_response(self.server.status)
        self.send_header("Content-Type", self.server.kind)
        self.end_headers()
        body = self.server.body
        self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

    def log_message(self, *_: Any) -> None:
        pass
