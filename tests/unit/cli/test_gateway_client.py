"""Check which gateway a command asks, and what it makes of the answers."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner, Result

from streams.cli import common, main
from streams.cli.gateway_client import NoGateway
from streams.settings import Settings
from streams.settings.addresses import GatewayAddress, published
from tests.unit.cli.stub_gateway import StubGateway

PATH = "/v1/apc/packets"
FROM_LOG = {"from": "log"}


def _unused_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture
def remarks() -> list[str]:
    """What is said about gateways that were not asked."""
    return []


@pytest.fixture(autouse=True)
def state_dir(tmp_path: Path, remarks: list[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory without a gateway; a view of the log answers at once."""
    for name in [name for name in os.environ if name.startswith("HEADRACE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HEADRACE_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("HEADRACE_GATEWAY", f"127.0.0.1:{_unused_port()}")

    def ask_log(path: str, query: str, settings: Settings, missing: NoGateway) -> Any:
        remarks.append(common.remark_of(missing, 1.84))
        return FROM_LOG

    monkeypatch.setattr(common, "_ask_log", ask_log)
    (tmp_path / "gateway").mkdir()
    return tmp_path


def ask(*args: str, path: str = PATH, **variables: str) -> Result:
    env = {f"HEADRACE_{name}": value for name, value in variables.items()}
    return CliRunner().invoke(main, ["query", path, *args], env=env)


def source(result: Result) -> str:
    assert result.exit_code == 0, result.output
    answer: dict[str, str] = json.loads(result.stdout)
    return answer["from"]


def publish(state_dir: Path, gateway_url: str, **members: Any) -> Any:
    address = GatewayAddress(gateway_url, "kafka:9092", "", os.getpid())._replace(**members)
    return published(state_dir / "gateway" / "address", address)


def test_a_gateway_is_named_by_option_or_variable(gateway: StubGateway) -> None:
    url = f"http://{gateway.address}"
    assert source(ask("--gateway", url)) == "gateway"
    assert source(ask("--gateway", gateway.address)) == "gateway"
    assert source(ask(URL=f"{url}/", BOOTSTRAP="other:9092", PREFIX="p.")) == "gateway"
    assert source(ask("--no-gateway", URL=url)) == "log"
    assert ask("--no-gateway", "--gateway", url).exit_code == 2
    assert ask("--gateway", "ftp://x").exit_code == 2


def test_what_was_on_the_log_is_in_the_answer(gateway: StubGateway) -> None:
    ask(URL=f"http://{gateway.address}/base")
    ask("--after", "apc.packets/0/1", path=f"{PATH}?limit=1", URL=f"http://{gateway.address}")
    ask("--as-of", "2026-11-22T12:00:00Z", URL=f"http://{gateway.address}")
    first, second, third = (urlsplit(path) for path, _ in gateway.requests)
    assert (first.path, first.query) == (f"/base{PATH}", "fresh=true")
    assert parse_qs(second.query).keys() == {"limit", "after", "fresh"}
    assert parse_qs(third.query).keys() == {"as_of"}


def test_the_gateway_of_the_state_directory_is_asked(gateway: StubGateway, state_dir: Path) -> None:
    with publish(state_dir, f"http://{gateway.address}"):
        assert source(ask()) == "gateway"
        assert source(ask(BOOTSTRAP="kafka:9092")) == "gateway"
        assert source(ask(BOOTSTRAP="other:9092")) == "log"
        assert source(ask(PREFIX="p.")) == "log"
    assert source(ask()) == "log"
    assert not (state_dir / "gateway" / "address").exists()


@pytest.mark.parametrize("change", [{"pid": 2**22 + 1}, {"url": "http://127.0.0.1:1"}])
def test_a_stale_address_is_ignored(
    change: dict[str, Any], gateway: StubGateway, state_dir: Path
) -> None:
    with publish(state_dir, f"http://{gateway.address}", **change):
        result = ask()
        assert source(result) == "log"
        assert result.stderr == ""
        assert source(ask(GATEWAY=gateway.address)) == "gateway"


@pytest.mark.parametrize("text", ["", "http://127.0.0.1:1\n", "[]", '{"url": 1}'])
def test_an_address_file_of_another_form_is_ignored(text: str, state_dir: Path) -> None:
    (state_dir / "gateway" / "address").write_text(text)
    assert source(ask()) == "log"


def test_a_gateway_at_its_usual_address_is_asked_about_the_log_of_this_machine(
    gateway: StubGateway,
) -> None:
    assert source(ask(GATEWAY=gateway.address)) == "gateway"
    assert source(ask(GATEWAY=gateway.address, BOOTSTRAP="kafka:9092")) == "log"
    assert source(ask(GATEWAY="127.0.0.1:0")) == "log"


def test_a_named_gateway_must_answer() -> None:
    url = f"http://127.0.0.1:{_unused_port()}"
    result = ask("--gateway", url)
    assert result.exit_code == 3
    assert result.stderr.startswith(f"headrace: gateway_unavailable: no gateway answers at {url}")


def test_another_server_is_no_gateway(gateway: StubGateway) -> None:
    gateway.kind = "text/html"
    assert source(ask(GATEWAY=gateway.address)) == "log"
    assert ask(URL=f"http://{gateway.address}").exit_code == 3


@pytest.mark.parametrize(
    ("status", "rule", "code"),
    [
        (401, "token_unknown", 1),
        (403, "role_missing", 1),
        (404, "not_found", 1),
        (404, "path_unknown", 2),
        (409, "as_of_undecided", 1),
        (410, "command_gone", 1),
        (422, "query_value", 2),
        (503, "service_unavailable", 3),
        (504, "not_seen_in_time", 3),
    ],
)
def test_problems_have_the_exit_codes_of_errors(
    status: int, rule: str, code: int, gateway: StubGateway
) -> None:
    gateway.refuse(status, rule)
    result = ask(URL=f"http://{gateway.address}")
    assert result.exit_code == code
    assert "It is so." in result.stderr
    assert result.stdout == ""


def test_the_token_is_sent_and_one_that_is_missing_leaves_the_log(
    gateway: StubGateway, remarks: list[str]
) -> None:
    assert source(ask(GATEWAY=gateway.address, TOKEN="hr_x")) == "gateway"
    gateway.refuse(401, "token_missing")
    assert source(ask(GATEWAY=gateway.address)) == "log"
    assert ask(GATEWAY=gateway.address, TOKEN="hr_x").exit_code == 1
    assert ask(URL=f"http://{gateway.address}").exit_code == 1
    assert remarks == [
        f"no gateway could be asked (http://{gateway.address} needs a token; set HEADRACE_TOKEN):"
        " read the log in 1.8 s"
    ]
    assert [token for _, token in gateway.requests] == ["Bearer hr_x", None, "Bearer hr_x", None]


def test_why_no_gateway_was_asked(gateway: StubGateway, remarks: list[str]) -> None:
    assert source(ask()) == "log"
    assert source(ask("--no-gateway")) == "log"
    gateway.refuse(503, "not_ready")
    assert source(ask(GATEWAY=gateway.address)) == "log"
    url = f"http://{gateway.address}"
    assert remarks == [
        *["no gateway: read the log in 1.8 s"] * 2,
        f"no gateway could be asked ({url} is not ready): read the log in 1.8 s",
    ]
