"""What a gateway refuses before it serves, and what it leaves behind."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from streams.errors import (
    AddressTaken,
    BrokerUnavailable,
    SettingsError,
    TokensMissing,
    ViewsInvalid,
)
from streams.gateway.server import Address, bind, run_gateway
from streams.settings import Settings


@pytest.mark.parametrize(
    ("text", "host", "port", "url"),
    [
        ("127.0.0.1:8640", "127.0.0.1", 8640, "http://127.0.0.1:8640"),
        ("localhost:0", "localhost", 0, "http://localhost:0"),
        ("[::1]:80", "::1", 80, "http://[::1]:80"),
    ],
)
def test_addresses(text: str, host: str, port: int, url: str) -> None:
    address = Address.parse(text)
    assert (address.host, address.port, address.url) == (host, port, url)


@pytest.mark.parametrize(
    "text",
    ["", "8640", ":8640", "a:", "a:b", "a:65536", "a:-1", "a:１", "a..b:1", f"{'a' * 64}:1"],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(SettingsError, match="HEADRACE_GATEWAY"):
        Address.parse(text)


@pytest.mark.parametrize("host", ["0.0.0.0", "0", "::", "::ffff:0.0.0.0", "192.0.2.1"])
def test_it_does_not_listen_beyond_loopback(host: str) -> None:
    with pytest.raises(TokensMissing, match=r"other machines.*Set HEADRACE_TOKENS") as caught:
        bind(Address(host, 0))
    assert caught.value.code == "tokens_missing"


def test_with_tokens_it_listens_wherever_it_is_told() -> None:
    with bind(Address("0.0.0.0", 0), guarded=True) as listener:
        assert listener.getsockname()[0] == "0.0.0.0"


def test_an_address_that_is_taken_names_its_setting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = Address(*other.getsockname())
        with pytest.raises(AddressTaken, match="HEADRACE_GATEWAY") as caught:
            bind(address)
    assert (caught.value.code, caught.value.exit_code) == ("address_taken", 3)


def test_a_host_that_nobody_knows() -> None:
    with pytest.raises(SettingsError, match=r"no-such-host\.invalid is not known"):
        bind(Address("no-such-host.invalid", 0))


def test_saved_views_that_are_not_valid_end_it_before_anything_else(tmp_path: Path) -> None:
    (tmp_path / "views.json").write_text("[\n{}]")
    with pytest.raises(ViewsInvalid, match="line 2: ") as caught:
        run_gateway(Settings(state_dir=tmp_path, console_views=tmp_path / "views.json"))
    assert (caught.value.code, caught.value.exit_code) == ("views_invalid", 2)


def test_without_a_broker_it_gives_up_after_a_while(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        settings = Settings(
            bootstrap=f"127.0.0.1:{port}", state_dir=tmp_path, gateway="127.0.0.1:0"
        )
        with pytest.raises(BrokerUnavailable):
            run_gateway(settings, patience_s=0)
    assert not (tmp_path / "gateway" / "address").exists()
