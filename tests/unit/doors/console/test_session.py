"""Tests of sessions: which cookies count, where, and for which pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from streams.access import Role, TokenFile
from streams.access.tokens import new_token
from streams.doors.console.session import COOKIE, Sessions
from streams.errors import Forbidden, Unauthenticated
from streams.gateway.access import index_routes
from streams.gateway.guard import Guard
from streams.gateway.live_tail.route import PATH as STREAM
from streams.settings import Settings
from tests.unit.doors.console.site import LOCAL, SignedGateway, token_gateway
from tests.unit.gateway.bench import GatewayBench

QUERY = "/v1/apc/packets"
KEYS = "the first key of all, the second key of all"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignedGateway]:
    folder = tmp_path_factory.mktemp("sessions")
    with token_gateway(folder, public_url="https://log.example", principal_key=KEYS) as gateway:
        yield gateway


def rule_of(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["rule"]


def test_a_token_is_exchanged_for_a_cookie(gateway: SignedGateway) -> None:
    response = gateway.sign_in(gateway.new_token(Role.READER))
    assert (response.status_code, response.content) == (204, b"")
    value, *attributes = response.headers["set-cookie"].split("; ")
    assert value.startswith(f"{COOKIE}=v1.")
    assert attributes == ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"]
    assert response.headers["cache-control"] == "private, no-cache"


def test_a_session_says_who_it_is_and_when_it_ends(gateway: SignedGateway) -> None:
    cookie = gateway.cookie(gateway.new_token(Role.READER))
    caller = gateway.ask("GET", "/v1/service", cookie).json()["caller"]
    assert (caller["principal"], caller["roles"]) == ("kim", ["reader"])
    ends = datetime.fromisoformat(caller["expires_at"]) - datetime.now(UTC)
    assert timedelta(hours=11.9) < ends <= timedelta(hours=12)


def test_a_session_has_the_roles_of_its_token(gateway: SignedGateway) -> None:
    cookie = gateway.cookie(gateway.new_token(Role.PRODUCER))
    assert rule_of(gateway.ask("GET", QUERY, cookie)) == (403, "role_missing")
    reader = gateway.cookie(gateway.new_token(Role.READER))
    assert gateway.ask("GET", QUERY, reader).status_code == 200


@pytest.mark.parametrize("token", ["hr_none_such", "x", "hr_" + "a" * 900])
def test_an_unknown_token_opens_no_session(gateway: SignedGateway, token: str) -> None:
    response = gateway.sign_in(token)
    assert rule_of(response) == (401, "token_unknown")
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize(
    ("body", "path"),
    [(b"[]", None), (b'{"token": 1}', "/token"), (b'{"token": ""}', "/token"), (b"{", None)],
)
def test_a_body_of_another_form_is_refused(
    gateway: SignedGateway, body: bytes, path: str | None
) -> None:
    headers = {**LOCAL, "content-type": "application/json"}
    response = gateway.bench.ask("POST", "/v1/session", content=body, headers=headers)
    assert response.status_code == 422
    assert response.json().get("path") == path or path is None
    plain = gateway.bench.ask(
        "POST", "/v1/session", content=body, headers={"content-type": "text/plain"}
    )
    assert rule_of(plain) == (415, "media_type")


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "other.example"},
        {"host": "gateway.internal:8640"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_sign_in_is_for_the_own_pages_at_known_hosts(
    gateway: SignedGateway, headers: dict[str, str]
) -> None:
    response = gateway.sign_in(gateway.new_token(Role.READER), **headers)
    assert rule_of(response) == (403, "session_origin")
    assert "HEADRACE_PUBLIC_URL" in response.json()["detail"]


@pytest.mark.parametrize("host", ["localhost:8640", "127.0.0.1", "[::1]:8640", "log.example"])
def test_sign_in_works_on_loopback_and_at_the_public_url(gateway: SignedGateway, host: str) -> None:
    assert gateway.sign_in(gateway.new_token(Role.READER), host=host).status_code == 204


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {"sec_fetch_site": "same-origin"}, 200),
        ("GET", {"sec_fetch_site": "none"}, 200),
        ("GET", {"sec_fetch_site": "cross-site"}, 403),
        ("GET", {"sec_fetch_site": "same-site"}, 403),
        ("POST", {"sec_fetch_site": "none"}, 403),
        ("POST", {"sec_fetch_site": "cross-site"}, 403),
        ("POST", {"sec_fetch_site": "cross-site", "origin": "https://log.example"}, 403),
        ("GET", {"origin": "http://localhost"}, 200),
        ("GET", {"origin": "https://log.example"}, 200),
        ("GET", {"origin": "https://log.example:8443"}, 403),
        ("GET", {"origin": "http://localhost:3000"}, 403),
        ("GET", {"origin": "null"}, 403),
        ("POST", {"origin": "https://other.example"}, 403),
    ],
)
def test_a_session_counts_for_the_own_pages_only(
    gateway: SignedGateway, method: str, headers: dict[str, str], status: int
) -> None:
    response = gateway.ask(
        method, QUERY, gateway.cookie(gateway.new_token(Role.OPERATOR)), **headers
    )
    assert response.status_code == status
    if status == 403:
        assert response.json()["rule"] == "csrf"


def test_a_request_without_either_header_is_not_of_a_page(gateway: SignedGateway) -> None:
    cookie = gateway.cookie(gateway.new_token(Role.READER))
    assert rule_of(gateway.bench.ask("GET", QUERY, headers={"cookie": cookie})) == (403, "csrf")


def test_with_authorization_the_cookie_is_ignored(gateway: SignedGateway) -> None:
    token = gateway.new_token(Role.READER)
    cookie = gateway.cookie(token)
    crossing = {"sec_fetch_site": "cross-site"}
    assert gateway.ask("GET", QUERY, cookie, authorization="Bearer hr_a_b").status_code == 401
    assert gateway.ask("GET", QUERY, cookie, authorization="Basic eA==").status_code == 401
    bearer = f"Bearer {token}"
    assert gateway.ask("GET", QUERY, "x=1", authorization=bearer, **crossing).status_code == 200


def test_a_session_ends_with_its_token(gateway: SignedGateway) -> None:
    lines = gateway.tokens.read_text()
    cookie = gateway.cookie(gateway.new_token(Role.READER))
    assert gateway.ask("GET", QUERY, cookie).status_code == 200
    gateway.tokens.write_text(lines)
    assert rule_of(gateway.ask("GET", QUERY, cookie)) == (401, "token_unknown")
    assert gateway.ask("GET", "/v1/service", cookie).json()["caller"] is None


def test_a_role_that_is_taken_away_is_gone_at_once(gateway: SignedGateway) -> None:
    cookie = gateway.cookie(gateway.new_token(Role.READER, principal="lee"))
    text = gateway.tokens.read_text()
    *before, last = text.splitlines()
    gateway.tokens.write_text("\n".join([*before, last.replace("reader", "producer")]) + "\n")
    assert rule_of(gateway.ask("GET", QUERY, cookie)) == (403, "role_missing")


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value[:-1] + ("A" if value[-1] != "A" else "B"),
        lambda value: value.replace("v1.", "v2.", 1),
        lambda value: ".".join([*value.split(".")[:3], "99999999999", value.split(".")[4]]),
        lambda value: f"{value}; {value}",
        lambda value: f"{COOKIE}=",
        lambda value: f"{COOKIE}=v1.é.1.2.x",
    ],
)
def test_a_forged_cookie_is_none(gateway: SignedGateway, change: Any) -> None:
    cookie = change(gateway.cookie(gateway.new_token(Role.READER)))
    response = gateway.bench.ask(
        "GET", QUERY, headers={**LOCAL, "cookie": cookie.encode("latin-1")}
    )
    assert rule_of(response) == (401, "token_unknown")


@pytest.mark.parametrize("path", ["/asap", "/summit"])
def test_other_doors_ignore_the_cookie(gateway: SignedGateway, path: str) -> None:
    cookie = gateway.cookie(gateway.new_token(Role.OPERATOR))
    headers = {**LOCAL, "cookie": cookie}
    call = {"jsonrpc": "2.0", "id": 1, "method": "asap.send", "params": {}}
    response = gateway.bench.ask("POST", path, json=call, headers=headers)
    without = gateway.bench.ask("POST", path, json=call)
    assert (response.status_code, response.content) == (without.status_code, without.content)
    assert "401" in response.text or "token" in response.text


def test_signing_out_clears_the_cookie(gateway: SignedGateway) -> None:
    cookie = gateway.cookie(gateway.new_token(Role.READER))
    response = gateway.ask("DELETE", "/v1/session", cookie)
    assert response.status_code == 204
    assert response.headers["set-cookie"] == (
        f"{COOKIE}=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0"
    )
    foreign = gateway.ask("DELETE", "/v1/session", cookie, sec_fetch_site="cross-site")
    assert rule_of(foreign) == (403, "csrf")
    assert gateway.bench.ask("DELETE", "/v1/session").status_code == 204


def test_without_tokens_nobody_signs_in(tmp_path: Path) -> None:
    with GatewayBench(tmp_path) as gateway:
        response = gateway.ask("POST", "/v1/session", json={"token": "hr_a_b"}, headers=LOCAL)
        assert rule_of(response) == (409, "session_not_needed")
        foreign = gateway.ask("GET", QUERY, headers={"host": "other.example", "cookie": "x=1"})
        assert rule_of(foreign) == (421, "host_foreign")


def test_the_access_log_shows_who_and_no_cookie(
    gateway: SignedGateway, caplog: pytest.LogCaptureFixture
) -> None:
    token = gateway.new_token(Role.READER)
    with caplog.at_level("INFO"):
        cookie = gateway.cookie(token)
        gateway.ask("GET", QUERY, cookie)
        gateway.ask("GET", QUERY, f"{cookie}x")
    lines = [json.loads(each.message) for each in caplog.records if each.name.endswith("access")]
    assert [line["principal"] for line in lines] == [None, "kim", None]
    assert lines[1]["route"] == QUERY
    for secret in (cookie, cookie.rpartition(".")[2], token):
        assert secret not in caplog.text


class Clock:
    """A clock that stands.  now: seconds since the epoch."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC).timestamp()

    def __call__(self) -> float:
        return self.now


def scope_of(cookie: str, path: str = QUERY) -> dict[str, Any]:
    headers = [(b"sec-fetch-site", b"same-origin"), (b"cookie", cookie.encode())]
    return {"method": "GET", "path": path, "headers": headers}


def write_token(path: Path, expires: datetime | None = None) -> str:
    token, record = new_token("kim", frozenset({Role.READER}), expires)
    path.write_text(f"{record.line()}\n")
    return token


def open_cookie(sessions: Sessions, token: str) -> str:
    header = sessions.open(token)
    assert header is not None
    return header.partition(";")[0]


def test_a_session_ends_after_its_hours(tmp_path: Path) -> None:
    token, clock = write_token(tmp_path / "t"), Clock()
    sessions = Sessions(TokenFile(tmp_path / "t"), Settings(console_session_h=2), clock)
    cookie = open_cookie(sessions, token)
    clock.now += 7190
    assert sessions.find_caller(scope_of(cookie)) is not None
    clock.now += 11
    with pytest.raises(Unauthenticated) as caught:
        sessions.find_caller(scope_of(cookie))
    assert caught.value.rule == "token_unknown"


def test_a_session_lives_no_longer_than_its_token(tmp_path: Path) -> None:
    token, clock = write_token(tmp_path / "t", datetime.now(UTC) + timedelta(minutes=9)), Clock()
    sessions = Sessions(TokenFile(tmp_path / "t"), Settings(), clock)
    caller = sessions.find_caller(scope_of(open_cookie(sessions, token)))
    assert caller is not None
    assert caller.until is not None
    assert caller.until - datetime.now(UTC) <= timedelta(minutes=9)


def test_every_key_of_the_list_verifies_and_no_other(tmp_path: Path) -> None:
    token, file = write_token(tmp_path / "t"), TokenFile(tmp_path / "t")
    old, new = KEYS.split(", ")
    cookie = open_cookie(Sessions(file, Settings(principal_key=old)), token)
    rotated = Sessions(file, Settings(principal_key=f"{new},{old}"))
    assert rotated.find_caller(scope_of(cookie)) is not None
    for keys in (new, None):
        with pytest.raises(Unauthenticated):
            Sessions(file, Settings(principal_key=keys)).find_caller(scope_of(cookie))


def test_a_token_made_anew_with_its_id_ends_the_sessions_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "t"
    token, record = new_token("kim", frozenset({Role.READER}))
    path.write_text(f"{record.line()}\n")
    sessions = Sessions(TokenFile(path), Settings())
    cookie = open_cookie(sessions, token)
    path.write_text(f"{replace_digest(record)}\n")
    with pytest.raises(Unauthenticated):
        sessions.find_caller(scope_of(cookie))


def replace_digest(record: Any) -> str:
    return str(record._replace(digest="0" * 64).line())


def test_streams_of_a_session_end_with_it(tmp_path: Path) -> None:
    path = tmp_path / "t"
    token = write_token(path)
    file, paths = TokenFile(path), index_routes({})
    sessions = Sessions(file, Settings())
    guard = Guard(file, Settings(), sessions.find_caller)
    scope = scope_of(open_cookie(sessions, token), STREAM)
    with guard.admit(scope, paths.match("GET", STREAM)) as caller:
        assert caller is not None
        assert guard.is_token_valid()
        assert not file.holds(replace_until(caller))
        path.write_text("")
        assert not guard.is_token_valid()


def replace_until(caller: Any) -> Any:
    return caller._replace(until=datetime.now(UTC))


def test_the_cookie_counts_below_v1_only(tmp_path: Path) -> None:
    path = tmp_path / "t"
    token = write_token(path)
    file, paths = TokenFile(path), index_routes({})
    sessions = Sessions(file, Settings())
    guard = Guard(file, Settings(), sessions.find_caller)
    cookie = open_cookie(sessions, token)
    with (
        pytest.raises(Unauthenticated) as caught,
        guard.admit(scope_of(cookie, "/other"), paths.match("GET", "/other")),
    ):
        pass
    assert caught.value.rule == "token_missing"
    spans = scope_of(cookie, "/v1/traces") | {"method": "POST"}
    with guard.admit(spans, paths.match("POST", "/v1/traces")) as caller:
        assert caller is None
    crossing = scope_of(cookie) | {"headers": [(b"cookie", cookie.encode())]}
    with pytest.raises(Forbidden), guard.admit(crossing, paths.match("GET", QUERY)):
        pass


def test_ten_thousand_wrong_cookies_are_cheap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts the file's readings and the keys' uses rather than the time."""
    token, file = write_token(tmp_path / "t"), TokenFile(tmp_path / "t")
    sessions = Sessions(file, Settings())
    value = open_cookie(sessions, token)
    readings: list[str] = []
    monkeypatch.setattr(file, "_refresh", lambda: readings.append(""))
    for number in range(10_000):
        with pytest.raises(Unauthenticated):
            sessions.find_caller(scope_of(f"{COOKIE}=wrong-{number}"))
    assert not readings
    with pytest.raises(Unauthenticated):
        sessions.find_caller(scope_of(value.replace("v1.", "v1.x", 1)))
    assert len(readings) == 1
