"""A gateway for `watch`: answers by path, an event stream, and a way to lose it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from streams.cli.watch.gateway import WatchedGateway
from streams.settings import Settings

Answer = Callable[[str], tuple[int, Any]]
STREAM = "/v1/rtes/stream"


class WatchedStub(ThreadingHTTPServer):
    """A gateway over a function.  requests: the paths that were asked for, with queries.

    is_lost: connections are closed without an answer, streams too.
    """

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.lock = threading.Lock()
        self.changed = threading.Condition()
        self.events: list[Any] = []
        self.is_lost = False
        self.requests: list[str] = []
        self.streams = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def gateway(self) -> WatchedGateway:
        return WatchedGateway(Settings(url=self.url))

    def send(self, *events: Any) -> None:
        """Send events to all streams."""
        with self.changed:
            self.events += events
            self.changed.notify_all()

    def lose(self, is_lost: bool = True) -> None:
        """Answer nothing any more, or again."""
        with self.changed:
            self.is_lost = is_lost
            self.changed.notify_all()

    def paths(self) -> list[str]:
        return [request.partition("?")[0] for request in self.requests]


class Handler(BaseHTTPRequestHandler):
    server: WatchedStub

    def do_GET(self) -> None:
        server = self.server
        server.requests.append(self.path)
        if server.is_lost:
            self.close_connection = True
        elif self.path.startswith(STREAM):
            self._stream()
        else:
            with server.lock:
                status, body = server.answer(self.path)
            kind = "application/json" if status == 200 else "application/problem+json"
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

    def _stream(self) -> None:
        server = self.server
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        cursor = self.headers["Last-Event-ID"]
        number = len(server.events) if cursor is None else int(cursor)
        self._send(f"id: {number}\n\n")
        with server.changed:
            server.streams += 1
            try:
                while not server.is_lost:
                    for event in server.events[number:]:
                        number += 1
                        self._send(f"id: {number}\ndata: {json.dumps(event)}\n\n")
                    self._send(": here\n\n")  # fails when the client has gone
                    server.changed.wait(0.1)
            finally:
                server.streams -= 1

    def _send(self, text: str) -> None:
        self.wfile.write(text.encode())

    def handle(self) -> None:
        with suppress(OSError):  # the client has gone
            super().handle()

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(answer: Answer) -> Iterator[WatchedStub]:
    """Serve while the context is open."""
    with WatchedStub(answer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.lose()
        server.shutdown()


def event(sequence: int, payload: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a recorded event of a session, as the stream sends it."""
    return {
        "event_id": f"e-{sequence}",
        "session_id": "s-9",
        "payload": payload,
        "origin": None,
        "sequence": sequence,
        "recorded_at": f"2026-01-01T12:04:{sequence % 60:02}.118Z",
        "rule": "recorded",
        "task_id": "task-7",
        "profile": None,
        "flags": [],
        "masked_arguments": 0,
        "dropped_keys": 0,
        "rewind_id": None,
        "cause": f"rtes.raw/0/{sequence}",
        **members,
    }


def thought(sequence: int, chunk: str, turn: int = 3) -> dict[str, Any]:
    payload = {"agent_id": "architect", "turn_index": turn, "chunk": chunk}
    return event(sequence, {"type": "THOUGHT_STREAM", **payload})


def invoked(sequence: int, call_id: str) -> dict[str, Any]:
    payload = {"call_id": call_id, "tool": "shell", "arguments": {"cmd": "pytest -x"}}
    return event(sequence, {"type": "TOOL_LIFECYCLE_INVOKED", **payload})


def completed(sequence: int, call_id: str, status: str = "failure") -> dict[str, Any]:
    payload = {"call_id": call_id, "tool": "shell", "status": status, "duration_ms": 2400}
    return event(sequence, {"type": "TOOL_LIFECYCLE_COMPLETED", **payload})
