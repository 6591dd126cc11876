"""An HTTP server, in a separate thread, for the metrics and the state of a process."""

# Written on http.server, and neither `prometheus_client.start_wsgi_server`, which bounds neither
# connections nor silent clients, nor uvicorn, which waits without limit for a request's headers
# and would load a web framework into every worker.

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

from streams.engine.metrics import WorkerStatus
from streams.errors import AddressTaken
from streams.settings.addresses import Address

log = logging.getLogger(__name__)

SETTING = "HEADRACE_METRICS"
_SILENCE_S = 5
"""How long a client may send nothing."""
_MOST = 32
"""The limit of concurrent connections; each takes a thread of the worker."""


class HasRegistry(Protocol):
    """Metrics in a registry."""

    @property
    def registry(self) -> CollectorRegistry: ...


@contextmanager
def serve_metrics(
    where: str | None, metrics: HasRegistry, standing: Callable[[], WorkerStatus]
) -> Iterator[None]:
    """Serve a worker's metrics at the address `where` while the context lasts; none if it is None.

    Raises SettingsError, AddressTaken.
    """
    with serve_registry(where, metrics.registry, lambda: readiness(standing())):
        yield


@contextmanager
def serve_registry(
    where: str | None, registry: CollectorRegistry, state: Callable[[], dict[str, Any]]
) -> Iterator[None]:
    """Serve metrics at the address `where` while the context lasts; do nothing if it is None.

    state: the answer of /readyz, with `ready`.  Raises SettingsError, AddressTaken.
    """
    if where is None:
        yield
        return
    server = _make_server(Address.parse(where, SETTING), registry, state)
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    host, port = server.server_address[:2]
    log.info("metrics at %s/metrics", Address(str(host), port).url)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _make_server(
    address: Address, registry: CollectorRegistry, state: Callable[[], dict[str, Any]]
) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        timeout = _SILENCE_S

        def do_GET(self) -> None:
            match self.path.partition("?")[0]:
                case "/metrics":
                    text = generate_latest(registry)
                    self._send_body(200, CONTENT_TYPE_PLAIN_0_0_4, text)
                case "/healthz":
                    self._send_json(200, {"alive": True})
                case "/readyz":
                    body = state()
                    self._send_json(200 if body["ready"] else 503, body)
                case _:
                    self._send_json(404, {"detail": "there are /metrics, /healthz and /readyz"})

        def _send_json(self, status: int, body: Any) -> None:
            self._send_body(status, "application/json", json.dumps(body).encode())

        def _send_body(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            log.debug(format, *args)

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        daemon_threads = True
        slots = threading.Semaphore(_MOST)

        def process_request(self, request: Any, client_address: Any) -> None:
            if self.slots.acquire(blocking=False):
                super().process_request(request, client_address)
            else:
                self.shutdown_request(request)

        def process_request_thread(self, request: Any, client_address: Any) -> None:
            try:
                super().process_request_thread(request, client_address)
            finally:
                self.slots.release()

        def handle_error(self, request: Any, client_address: Any) -> None:
            log.debug("a client of the metrics went away", exc_info=True)

    try:
        return Server((address.host, address.port), Handler)
    except OSError as exc:
        raise AddressTaken(
            f"the metrics cannot be served at {address}: {exc.strerror}",
            advice=f"Set {SETTING} to another address, or stop what listens there.",
        ) from exc


def readiness(standing: WorkerStatus) -> dict[str, Any]:
    """Report ready once the group has assigned tasks, maybe none, and all follow their inputs."""
    opening = [task.partition for task in standing.tasks if not task.ready]
    ready = [task.partition for task in standing.tasks if task.ready]
    return {"ready": standing.assigned and not opening, "tasks": ready, "opening": opening}
