"""Tests of single POSTs to receivers that answer well, badly, or not."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from streams.doors.push.addresses import AllowList, IpAddress, UrlRefused
from streams.doors.push.posting import MAX_ANSWER, Posted, Poster, category_of
from tests.authority import Authority
from tests.unit.doors.push.receivers import HttpReceiver, Received, receiving

LOOPBACK = AllowList.parse("127.0.0.0/8")
HEADERS = {"content-type": "application/json", "x-own": "1"}


def run(work: Awaitable[Any]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(30):
            return await work

    return asyncio.run(bounded())


def resolving(*addresses: str) -> Callable[[str, int], Awaitable[Sequence[IpAddress]]]:
    async def resolve(host: str, port: int) -> Sequence[IpAddress]:
        return [ipaddress.ip_address(each) for each in addresses]

    return resolve


async def post_to(
    poster: Poster, receiver: HttpReceiver, url: str | None = None, **more: Any
) -> Posted:
    try:
        return await poster.post(url or receiver.url("/a?b=c"), b"{}", HEADERS, **more)
    finally:
        await poster.close()


def test_what_is_posted_arrives_as_it_is() -> None:
    async def work() -> None:
        async with receiving(lambda received: (200, b"body")) as receiver:
            posted = await post_to(Poster(LOOPBACK), receiver, reads_answer=True)
            assert posted == Posted(200, None, b"body")
            assert posted.is_success
            (received,) = receiver.requests
            assert (received.path, received.body) == ("/a?b=c", b"{}")
            assert received.headers["host"] == f"127.0.0.1:{receiver.port}"
            assert received.headers["x-own"] == "1"

    run(work())


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 404, 410, 413, 500, 503])
def test_no_redirect_is_followed_and_other_statuses_are_faults(status: int) -> None:
    async def work() -> None:
        async with receiving(lambda received: (status, b"")) as receiver:
            receiver.location = receiver.url("/elsewhere")
            posted = await post_to(Poster(LOOPBACK), receiver)
            assert (posted.status, posted.fault) == (status, f"http_{status}")
            assert category_of(posted.fault) == f"http_{status // 100}xx"
            assert len(receiver.requests) == 1

    run(work())


def test_a_receiver_that_does_not_answer_is_left() -> None:
    async def work() -> None:
        async with receiving(lambda received: None) as receiver:
            posted = await post_to(Poster(LOOPBACK, answer_s=0.1), receiver)
            assert posted == Posted(None, "timeout")

    run(work())


def test_a_port_without_a_receiver() -> None:
    async def work() -> None:
        async with receiving() as receiver:
            url = receiver.url()
        assert await post_to(Poster(LOOPBACK), receiver, url) == Posted(None, "connection_refused")

    run(work())


def test_of_an_answer_only_the_beginning_is_read() -> None:
    async def work() -> None:
        async with receiving(lambda received: (200, b"x" * (2 * MAX_ANSWER))) as receiver:
            posted = await post_to(Poster(LOOPBACK), receiver, reads_answer=True)
            assert len(posted.body) == MAX_ANSWER

    run(work())


def test_a_name_that_now_leads_inside_is_refused() -> None:
    """Resolve at each request, since a name may have been rebound since it was checked."""

    async def work() -> None:
        answers = [["93.184.215.14"], ["127.0.0.1"]]

        async def resolve(host: str, port: int) -> Sequence[IpAddress]:
            return [ipaddress.ip_address(each) for each in answers.pop(0)]

        async with receiving() as receiver:
            poster = Poster(AllowList(), resolve)
            url = f"https://hooks.example:{receiver.port}/"
            await poster.check(url)
            assert await post_to(poster, receiver, url) == Posted(None, "address_refused")
            assert receiver.requests == []

    run(work())


def test_a_name_that_leads_inside_is_refused_when_it_is_checked() -> None:
    poster = Poster(AllowList(), resolving("10.0.0.1", "::1"))
    with pytest.raises(UrlRefused):
        run(poster.check("https://hooks.example/"))


def test_a_name_that_is_not_known_fails_later() -> None:
    async def resolve(host: str, port: int) -> Sequence[IpAddress]:
        raise OSError("not known")

    async def work() -> Posted:
        poster = Poster(AllowList(), resolve)
        await poster.check("https://hooks.example/")
        posted: Posted = await poster.post("https://hooks.example/", b"", {})
        await poster.close()
        return posted

    assert run(work()) == Posted(None, "connection_refused")


def test_tls_is_that_of_the_name_at_the_address_that_was_checked(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(authority.issue("hooks", host="hooks.example"))
    client = ssl.create_default_context(cafile=str(authority.ca))

    async def work() -> None:
        async with receiving(tls=server) as receiver:
            names = []

            def note(socket: Any, name: str | None, context: ssl.SSLContext) -> None:
                names.append(name)

            server.sni_callback = note
            allowed = AllowList.parse("hooks.example,other.example")
            poster = Poster(allowed, resolving("127.0.0.1"), client)
            url = f"https://hooks.example:{receiver.port}/"
            assert (await poster.post(url, b"{}", HEADERS)).status == 204
            (received,) = receiver.requests
            assert received.headers["host"] == f"hooks.example:{receiver.port}"
            assert names == ["hooks.example"]
            other = f"https://other.example:{receiver.port}/"
            assert await poster.post(other, b"{}", HEADERS) == Posted(None, "tls_error")
            strict = Poster(allowed, resolving("127.0.0.1"))
            assert await post_to(strict, receiver, url) == Posted(None, "tls_error")
            await poster.close()
            assert len(receiver.requests) == 1

    run(work())


def test_one_host_has_eight_places() -> None:
    async def work() -> None:
        gate = asyncio.Event()
        active = peak = 0

        async with receiving() as receiver:

            async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                nonlocal active, peak
                active += 1
                peak = max(peak, active)
                await reader.readuntil(b"\r\n\r\n")
                if active == 8:
                    gate.set()
                await gate.wait()
                await asyncio.sleep(0.01)
                active -= 1
                writer.write(b"HTTP/1.1 204 X\r\nconnection: close\r\n\r\n")
                writer.close()

            server = await asyncio.start_server(slow, "127.0.0.1", 0)
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            poster = Poster(LOOPBACK)
            posted = await asyncio.gather(*(poster.post(url, b"", {}) for _ in range(30)))
            assert {each.status for each in posted} == {204}
            assert peak == 8
            await poster.close()
            server.close()
            assert receiver.requests == []

    run(work())


def test_a_request_is_kept_as_it_came() -> None:
    assert Received("/", {}, b'{"a": 1}').json == {"a": 1}
