"""The service over HTTP: what each answer, and each lack of one, means."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from streams.api.problems import Response
from streams.ops.rewind.errors import RewindUsage
from streams.ops.rewind.http import HttpService
from streams.ops.rewind.service import OutcomeUnknown, Refused, Target, Unreachable
from tests.unit.ops.rewind.gateway import Gateway

Asked = tuple[str, str, str, Any]


class Answers:
    """answer: to every request.  asked: what came."""

    def __init__(self) -> None:
        self.answer = Response(200, {"state": "prepared"})
        self.asked: list[Asked] = []

    def __call__(self, *arguments: Any) -> Response:
        self.asked.append(arguments)
        return self.answer


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def gateway(answers: Answers) -> Iterator[Gateway]:
    gateway = Gateway(answers)
    with gateway.serving():
        yield gateway


@pytest.fixture
def service(gateway: Gateway) -> Iterator[HttpService]:
    with HttpService(gateway.address) as service:
        yield service


@pytest.mark.parametrize(
    ("session_id", "path"),
    [
        ("s-9", "s-9"),
        ("a/b c%", "a%2Fb%20c%25"),
        ("..", "%2E%2E"),
        ("", ""),
        ("é?x=1#", "%C3%A9%3Fx%3D1%23"),
    ],
)
def test_a_session_is_one_part_of_the_path(
    service: HttpService, answers: Answers, session_id: str, path: str
) -> None:
    service.confirm(session_id, "r")
    assert answers.asked[0][:3] == ("POST", f"/v1/saop/sessions/{path}/rewinds/r/confirm", "")


def test_what_is_asked(service: HttpService, answers: Answers) -> None:
    service.prepare("s", "r", Target("A"), None)
    service.prepare("s", "r", Target(git_hash="beef"), "why")
    service.abort("s", "r")
    service.find("s", "r")
    service.plan("s", Target("a&b"))
    base = "/v1/saop/sessions/s"
    assert answers.asked == [
        ("POST", f"{base}/rewind", "", b'{"phase":"prepare","rewind_id":"r","task_id":"A"}'),
        (
            "POST",
            f"{base}/rewind",
            "",
            b'{"phase":"prepare","rewind_id":"r","git_hash":"beef","reason":"why"}',
        ),
        ("POST", f"{base}/rewinds/r/abort", "", b""),
        ("GET", f"{base}/rewinds/r", "", b""),
        ("GET", f"{base}/rewind-plan", "task_id=a%26b", b""),
    ]


@pytest.mark.parametrize("status", [404, 409, 422])
def test_a_refusal_has_its_rule_and_state(
    service: HttpService, answers: Answers, status: int
) -> None:
    body = {"rule": "rewind_lapsed", "detail": "too late", "fact": {"state": "lapsed"}}
    answers.answer = Response(status, body)
    with pytest.raises(Refused, match="too late") as caught:
        service.confirm("s", "r")
    assert (caught.value.rule, caught.value.state) == ("rewind_lapsed", "lapsed")


@pytest.mark.parametrize("body", [None, [], "no", {}, {"rule": 3, "fact": "x"}])
def test_a_refusal_of_another_server_has_no_rule(
    service: HttpService, answers: Answers, body: Any
) -> None:
    answers.answer = Response(403, body)
    with pytest.raises(Refused) as caught:
        service.confirm("s", "r")
    assert (caught.value.rule, caught.value.state) == (None, None)


@pytest.mark.parametrize(
    "answer",
    [
        Response(504, {"rule": "not_seen_in_time"}),
        Response(503, {}),
        Response(500, None),
        Response(200, None),
        Response(200, []),
        Response(302, {}),
    ],
)
def test_answers_that_decide_nothing(
    service: HttpService, answers: Answers, answer: Response
) -> None:
    answers.answer = answer
    with pytest.raises(OutcomeUnknown):
        service.confirm("s", "r")


def test_a_rewind_that_is_not_there(service: HttpService, answers: Answers) -> None:
    answers.answer = Response(404, {"rule": "not_found", "detail": "none"})
    assert service.find("s", "r") is None
    answers.answer = Response(404, {"rule": "path_unknown", "detail": "none"})
    with pytest.raises(Refused):
        service.find("s", "r")


def test_no_answer_in_time(gateway: Gateway) -> None:
    gateway.hold = ("/confirm", True)
    with HttpService(gateway.address, answer_s=0.2) as service, pytest.raises(OutcomeUnknown):
        service.confirm("s", "r")


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with HttpService(address) as service, pytest.raises(Unreachable, match=address):
            service.confirm("s", "r")


def test_a_line_that_is_cut() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        server.settimeout(30)
        with HttpService(address) as service:

            def cut() -> None:
                connection, _ = server.accept()
                connection.recv(10)
                connection.close()

            thread = threading.Thread(target=cut)
            thread.start()
            with pytest.raises(OutcomeUnknown):
                service.confirm("s", "r")
            thread.join()


def test_no_address() -> None:
    with pytest.raises(RewindUsage):
        HttpService("127.0.0.1:port")
