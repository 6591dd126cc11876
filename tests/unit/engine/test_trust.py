"""Whether Python trusts who listens where Kafka should, seen at a real server of TLS."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import pytest

from streams.engine.certificates import check_trust
from streams.errors import TlsFailed
from streams.ops.doctor import services
from streams.ops.doctor.findings import Level
from streams.settings import Settings
from tests.authority import Authority

NOBODY = "127.0.0.1:9"
STRICT = bool(ssl.create_default_context().verify_flags & ssl.VERIFY_X509_STRICT)
"""From Python 3.13 on."""


class Server(ThreadingTCPServer):
    """Its handlers may fail as TLS does when a client goes."""

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@contextmanager
def listening(certificate: Path) -> Iterator[str]:
    """The address of one that shakes hands with whoever comes, and hangs up."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with Server(("127.0.0.1", 0), BaseRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def address(authority: Authority) -> Iterator[str]:
    with listening(authority.issue("broker")) as bootstrap:
        yield bootstrap


def trusting(authority: Authority) -> dict[str, str]:
    return {"security.protocol": "SSL", "ssl.ca.location": str(authority.ca)}


def test_the_first_that_answers_is_trusted(authority: Authority, address: str) -> None:
    check_trust(f"{NOBODY}, {address}", trusting(authority))


def test_that_nobody_answers_is_not_said_here(authority: Authority) -> None:
    check_trust(f"no port,{NOBODY}", trusting(authority))


def test_without_tls_nothing_is_asked(address: str) -> None:
    check_trust(address, {"security.protocol": "SASL_PLAINTEXT"})


def test_a_stranger_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(TlsFailed, match="CERTIFICATE_VERIFY_FAILED"):
        check_trust(address, trusting(Authority(tmp_path, "other")))


def test_a_host_that_the_certificate_lacks_is_refused(authority: Authority, address: str) -> None:
    with pytest.raises(TlsFailed, match="localhost"):
        check_trust(address.replace("127.0.0.1", "localhost"), trusting(authority))


def test_a_certificate_that_names_no_key_of_its_issuer(authority: Authority) -> None:
    refused: Any = pytest.raises(TlsFailed, match="Missing Authority Key Identifier")
    certificate = authority.issue("broker", name_issuer_key=False)
    with listening(certificate) as address, refused if STRICT else nullcontext():
        check_trust(address, trusting(authority))


def test_the_doctor_tells_what_a_worker_would_not_trust(tmp_path: Path, address: str) -> None:
    ca = str(Authority(tmp_path, "other").ca)
    security = {"SECURITY_PROTOCOL": "SSL", "SECURITY_SSL_CA_LOCATION": ca}
    check = services.broker_version(Settings(bootstrap=address).assign(security))
    assert check.level is Level.FAIL
    assert check.said.startswith("tls_failed: ")
