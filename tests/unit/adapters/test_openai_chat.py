"""A chat endpoint as an agent: the official client, over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from streams.adapters import Price
from streams.adapters.openai_chat import from_chat
from tests.unit.adapters.support import Json, final_of, made

KEY = "key-of-our-own-format"
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


class Endpoint(ThreadingHTTPServer):
    """Answers each request with the next of `answers`: (status, body)."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[tuple[int, Json]] = []
        self.requests: list[tuple[Json, Json]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        assert self.path == "/v1/chat/completions"
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): of for name, of in self.headers.items()}
        self.server.requests.append((headers, body))
        status, answer = self.server.answers.pop(0)
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[Endpoint]:
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as server:
        yield server


def says(content: str | None, **more: Any) -> tuple[int, Json]:
    message = {"role": "assistant", "content": content}
    answer = {
        "id": "c-1",
        "object": "chat.completion",
        "created": 1,
        "model": "small-1-2026-10-01",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": USAGE,
    }
    return 200, {**answer, **more}


def test_one_question_and_its_answer(endpoint: Endpoint) -> None:
    endpoint.answers = [says("Yes.")]
    handler = from_chat(
        endpoint.url,
        "small-1",
        system="Be short.",
        api_key=KEY,
        prices={"small-1": Price("0.15", "0.60")},
    )
    final = final_of(handler, {"text": "Is it?"})
    assert final["output"] == {"text": "Yes."}
    assert final["metrics"]["cost_usd"] == 0.000027
    assert made(final)["model"] == "small-1-2026-10-01"
    ((headers, body),) = endpoint.requests
    assert headers["authorization"] == f"Bearer {KEY}"
    assert body == {
        "model": "small-1",
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "Is it?"},
        ],
    }


def test_without_a_key_none_is_sent(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not for this endpoint")
    endpoint.answers = [says("a")]
    assert final_of(from_chat(endpoint.url, "m"), {"text": "b"})["output"] == {"text": "a"}
    ((headers, _),) = endpoint.requests
    assert "authorization" not in headers


@pytest.mark.parametrize("kind", ["json_object", "json_schema"])
def test_an_answer_in_json_is_the_output(endpoint: Endpoint, kind: str) -> None:
    endpoint.answers = [says('{"sure": true}'), says("no JSON")]
    handler = from_chat(endpoint.url, "m", response_format={"type": kind})
    assert final_of(handler, {"text": "b"})["output"] == {"sure": True}
    assert endpoint.requests[0][1]["response_format"] == {"type": kind}
    final = final_of(handler, {"text": "b"})
    assert (final["kind"], final["metrics"]["tokens"]) == ("error", 120)


def test_an_answer_without_usage(endpoint: Endpoint) -> None:
    endpoint.answers = [says("a", usage=None), says("a", usage=None)]
    assert made(final_of(from_chat(endpoint.url, "m"), {"text": "b"}))["usage"] == "missing"
    final = final_of(from_chat(endpoint.url, "m"), {"text": "b"}, {"tokens": 9})
    assert final["error"]["message"].startswith("UsageMissing: ")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (says(None), "it has no text"),
        (says("a", choices=[]), "it has no text"),
        (
            says(
                "",
                choices=[
                    {
                        "index": 0,
                        "finish_reason": "stop",
                        "message": {"role": "assistant", "content": None, "refusal": "I will not."},
                    }
                ],
            ),
            "I will not.",
        ),
    ],
)
def test_no_answer_is_an_error(endpoint: Endpoint, answer: Any, reason: str) -> None:
    endpoint.answers = [answer]
    final = final_of(from_chat(endpoint.url, "m"), {"text": "b"})
    assert final["error"]["message"] == f"ValueError: the model gave no answer: {reason}"


def test_an_error_shows_neither_key_nor_headers(endpoint: Endpoint) -> None:
    """Though the endpoint repeats both."""
    repeated = f"Incorrect key {KEY}; you sent Authorization: Bearer {KEY}"
    endpoint.answers = [(401, {"error": {"message": repeated, "code": "invalid_api_key"}})]
    final = final_of(from_chat(endpoint.url, "m", api_key=KEY), {"text": "b"})
    assert final["error"]["message"].startswith("AuthenticationError: ")
    assert KEY not in str(final)
