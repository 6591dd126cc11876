"""A schema registry over HTTP that can die and come back."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self, cast
from urllib.parse import unquote, urlsplit

from schemas import CATALOGUE, use_ids
from streams.registry.client import Registry
from streams.registry.ids import RegistryIds
from streams.registry.register import register
from tests.unit.registry.fake import FakeRegistry

_POLL_S = 0.02


class RegistryServer:
    """On one port for good; who asks while it is away is refused.  knows: what it never loses."""

    def __init__(self) -> None:
        self.knows = FakeRegistry(next_id=500)
        self._server = _bound(self.knows, 0)
        self._port = self._server.server_port
        self._thread: Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self.come_back()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self.die()
        self._server.server_close()

    def come_back(self) -> None:
        self._server.server_activate()
        self._thread = Thread(target=self._server.serve_forever, args=(_POLL_S,))
        self._thread.start()

    def die(self) -> None:
        """Returns when nobody listens any more.  The port is kept for its return."""
        assert self._thread is not None
        self._server.shutdown()
        self._thread.join()
        self._thread = None
        self._server.server_close()
        self._server = _bound(self.knows, self._port)

    @contextmanager
    def used(self, prefix: str) -> Iterator[None]:
        """With the catalogue registered; this process reads its ids, whether it is away or not."""
        knows = cast(Registry, self.knows)
        register(knows, prefix, lambda line: None)
        use_ids(RegistryIds(knows, prefix))
        try:
            yield
        finally:
            use_ids(None)

    def add_worded(self, record: str, words: str) -> int:
        """The id of the schema of a record that another has registered, with words of its own."""
        schema: Any = copy.deepcopy(CATALOGUE.latest(record).schema)
        return self.knows.add("others-value", {**schema, "doc": words})


def _bound(knows: FakeRegistry, port: int) -> ThreadingHTTPServer:
    """A server that does not listen yet."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            document = _answer(knows, urlsplit(self.path).path)
            missing = {"error_code": 40403, "message": "it is not there"}
            body = json.dumps(missing if document is None else document).encode()
            self.send_response(404 if document is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler, bind_and_activate=False)
    server.server_bind()
    return server


def _answer(knows: FakeRegistry, path: str) -> Any:
    """What lies at a path; None for nothing."""
    match [unquote(part) for part in path.strip("/").split("/")]:
        case ["schemas", "ids", id]:
            schema = knows.schema(int(id))
            return None if schema is None else {"schema": json.dumps(schema)}
        case ["subjects", subject, "versions"]:
            return [version.version for version in knows.versions(subject)] or None
        case ["subjects", subject, "versions", number]:
            for version in knows.versions(subject):
                if version.version == int(number):
                    text = json.dumps(version.schema)
                    return {"subject": subject, **version._asdict(), "schema": text}
    return None
