"""A schema registry behind TLS."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from streams.errors import RegistryUnavailable, RegistryUntrusted, SettingsError
from streams.registry.client import Registry
from tests.authority import Authority


class Versions(BaseHTTPRequestHandler):
    """Knows versions 1 and 2 of nothing that can be read."""

    def do_GET(self) -> None:
        body = b"[1, 2]" if self.path.endswith("/versions") else b'{"error_code": 40402}'
        self.send_response(200 if self.path.endswith("/versions") else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Its handlers may fail as TLS does when a client goes."""

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def url(authority: Authority) -> Iterator[str]:
    """Of a registry that asks for a certificate too, and is strict with it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("registry"))
    context.load_verify_locations(authority.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with Server(("127.0.0.1", 0), Versions) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"https://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def files(authority: Authority) -> dict[str, str]:
    client = str(authority.issue("client"))
    return {
        "ssl.ca.location": str(authority.ca),
        "ssl.certificate.location": client,
        "ssl.key.location": client,
    }


def test_who_is_trusted_answers(url: str, authority: Authority) -> None:
    with closing(Registry(url, 60.0, files(authority))) as registry:
        assert registry.versions("apc.packets-value") == []


def test_a_stranger_is_not_waited_for(url: str, authority: Authority, tmp_path: Path) -> None:
    other = {**files(authority), "ssl.ca.location": str(Authority(tmp_path, "other").ca)}
    with (
        closing(Registry(url, None, other)) as registry,
        pytest.raises(RegistryUntrusted) as failure,
    ):
        registry.versions("apc.packets-value")
    assert "HEADRACE_REGISTRY_SSL_CA_LOCATION" in str(failure.value)


def test_without_tls_nobody_answers(url: str, authority: Authority) -> None:
    plain = url.replace("https:", "http:")
    with closing(Registry(plain, 0.0)) as registry, pytest.raises(RegistryUnavailable):
        registry.versions("apc.packets-value")


def test_a_file_that_holds_no_certificate_is_a_wrong_setting(tmp_path: Path) -> None:
    empty = tmp_path / "ca.pem"
    empty.write_text("nothing")
    with pytest.raises(SettingsError, match="HEADRACE_REGISTRY_SSL_"):
        Registry("https://127.0.0.1:9", 0.0, {"ssl.ca.location": str(empty)})
