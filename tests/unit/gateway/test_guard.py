"""Who passes, and how many at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

from streams.access import Role, TokenFile
from streams.access.callers import Caller
from streams.access.tokens import new_token
from streams.api.route import Refused
from streams.engine.principals import PRINCIPAL, Principals
from streams.engine.records import Output
from streams.errors import Forbidden, SettingsError
from streams.gateway.access import index_routes
from streams.gateway.caller import get_caller, sign_outputs
from streams.gateway.guard import Guard
from streams.gateway.live_tail.route import PATH as STREAM
from streams.settings import Settings
from tests.unit.gateway.bench import GatewayBench

QUERY = "/v1/apc/packets"
OUTPUTS = [Output("apc.packets", b"k", b"v")]
OURS = Principals([b"a key of these tests"])


PATHS = index_routes({})


def admit(guard: Guard, scope: dict[str, Any]) -> AbstractContextManager[Caller | None]:
    return guard.admit(scope, PATHS.match(scope["method"], scope["path"]))


class Door:
    """bounds: of one principal."""

    def __init__(self, path: Path, **bounds: Any) -> None:
        made = {name: new_token(name, frozenset({Role.READER})) for name in ("kim", "lee")}
        path.write_text("".join(f"{entry.line()}\n" for _, entry in made.values()))
        self._path = path
        self._tokens = {name: token for name, (token, _) in made.items()}
        self.guard = Guard(TokenFile(path), Settings(**bounds))

    def scope(self, name: str, path: str = QUERY) -> dict[str, Any]:
        token = f"Bearer {self._tokens[name]}".encode()
        return {"method": "GET", "path": path, "headers": [(b"authorization", token)]}

    def close(self) -> None:
        """To everybody."""
        self._path.write_text("")


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path / "t", gateway_principal_requests=2, gateway_principal_streams=1)


def test_each_principal_has_so_many_streams_and_so_many_requests(door: Door) -> None:
    with ExitStack() as stack:
        stack.enter_context(admit(door.guard, door.scope("kim", STREAM)))
        with pytest.raises(Refused) as caught, admit(door.guard, door.scope("kim", STREAM)):
            pass
        assert caught.value.response.status == 429
        assert "kim has 1 streams at once" in caught.value.response.body["detail"]
        stack.enter_context(admit(door.guard, door.scope("lee", STREAM)))
        for _ in range(2):
            stack.enter_context(admit(door.guard, door.scope("kim")))
        with pytest.raises(Refused), admit(door.guard, door.scope("kim")):
            pass
    with admit(door.guard, door.scope("kim", STREAM)) as again:
        assert again is not None


def test_all_who_have_no_token_are_one(door: Door) -> None:
    """Where a body is read before they are told so, as ASAP has it."""
    stranger = {"method": "POST", "path": "/asap", "headers": []}
    with ExitStack() as stack:
        for headers in ([], [(b"authorization", b"Bearer hr_a_b")]):
            stack.enter_context(admit(door.guard, {**stranger, "headers": headers}))
        with pytest.raises(Refused) as caught, admit(door.guard, stranger):
            pass
        assert "who has no token has 2 requests" in caught.value.response.body["detail"]
        with admit(door.guard, door.scope("kim")) as known:
            assert known is not None
        with admit(door.guard, {"method": "GET", "path": "/healthz", "headers": []}) as caller:
            assert caller is None


def test_who_calls_is_known_as_long_as_the_request_lasts(door: Door) -> None:
    assert get_caller() is None
    with admit(door.guard, door.scope("kim")):
        caller = get_caller()
        assert caller is not None
        assert caller.principal == "kim"
        assert door.guard.is_token_valid()
        door.close()
        assert not door.guard.is_token_valid()
    assert get_caller() is None
    assert door.guard.is_token_valid()


def test_records_are_signed_for_who_calls(door: Door) -> None:
    assert sign_outputs(OUTPUTS, OURS, 1) == OUTPUTS
    with admit(door.guard, door.scope("kim")):
        (output,) = sign_outputs(OUTPUTS, OURS, 1)
        assert dict(output.headers)[PRINCIPAL] == b"kim"
        assert sign_outputs(OUTPUTS, None, 1) == OUTPUTS


def test_without_tokens_everybody_passes() -> None:
    guard = Guard(None, Settings())
    with admit(guard, {"method": "POST", "path": QUERY, "headers": []}) as caller:
        assert caller is None
        assert guard.is_token_valid()


@pytest.mark.parametrize(
    ("origin", "passes"),
    [
        (b"http://localhost:3000", True),
        (b"http://127.0.0.1:8640", True),
        (b"http://[::1]:8640", True),
        (b"https://evil.example", False),
        (b"http://localhost.evil.example", False),
        (b"http://localhost@evil.example", False),
        (b"http://192.0.2.1", False),
        (b"http://[", False),
        (b"null", False),
        (b"", False),
    ],
)
def test_without_tokens_no_page_from_elsewhere_passes(
    origin: bytes, passes: bool, door: Door
) -> None:
    """A browser would send it for the page, with a type of body that needs no leave."""
    scope = {"method": "POST", "path": "/asap", "headers": [(b"origin", origin)]}
    if passes:
        with admit(Guard(None, Settings()), scope) as caller:
            assert caller is None
    else:
        with (
            pytest.raises(Forbidden, match="HEADRACE_TOKENS") as caught,
            admit(Guard(None, Settings()), scope),
        ):
            pass
        assert caught.value.rule == "origin_foreign"
    named = door.scope("kim")  # no browser has a token by itself
    named["headers"].append((b"origin", origin))
    with admit(door.guard, named) as known:
        assert known is not None


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8640", 200),
        ("127.0.0.1:8640", 200),
        ("127.8.9.1", 200),
        ("[::1]:8640", 200),
        ("fleet.example", 200),
        ("fleet.example:443", 200),
        ("bound.example:8640", 200),
        ("evil.example:8640", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("192.0.2.1", 421),
        ("[::", 421),
        ("", 421),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS"])
def test_a_page_does_not_reach_the_gateway_by_its_own_name(
    method: str, host: str, status: int
) -> None:
    """Refuse what a browser sends for a page whose name was bound to 127.0.0.1 (DNS rebinding)."""
    settings = Settings(gateway="bound.example:8640", public_url="https://fleet.example/x")
    scope = {"method": method, "path": QUERY, "headers": [(b"host", host.encode())]}
    refusal = Guard(None, settings).check_host(scope)
    assert (200 if refusal is None else refusal.status) == status
    if refusal is not None:
        assert refusal.body["rule"] == "host_foreign"


@pytest.mark.parametrize("headers", [[], [(b"host", b"localhost"), (b"Host", b"evil.example")]])
def test_a_request_has_one_host(headers: list[tuple[bytes, bytes]], door: Door) -> None:
    scope = {"method": "GET", "path": QUERY, "headers": headers}
    refusal = Guard(None, Settings()).check_host(scope)
    assert refusal is not None
    assert refusal.status == 421
    assert door.guard.check_host(scope) is None, "with tokens any host is right"


def test_the_origin_of_the_public_address_passes() -> None:
    scope = {"method": "POST", "path": QUERY, "headers": [(b"origin", b"https://fleet.example")]}
    with admit(Guard(None, Settings(public_url="https://fleet.example")), scope) as caller:
        assert caller is None


@pytest.mark.parametrize("url", ["fleet.example", "ftp://fleet.example", "https://", "http://["])
def test_a_public_address_is_a_url(url: str) -> None:
    with pytest.raises(SettingsError, match="HEADRACE_PUBLIC_URL"):
        Guard(None, Settings(public_url=url))


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("path", ["/healthz", "/v1/apc/packets", "/v1/nothing", "/asap", "/summit"])
def test_every_door_refuses_a_foreign_host(gateway: GatewayBench, method: str, path: str) -> None:
    response = gateway.ask(method, path, headers={"host": "evil.example:8640"})
    assert response.status_code == 421
    assert response.json()["rule"] == "host_foreign"
