"""What is posted to the JSON-RPC servers to begin with: as in scenarios and examples, and odd."""

from __future__ import annotations

import json
from typing import Any

from tests.fuzz.examples import EXAMPLES
from tests.fuzz.json_inputs import ODD

SCENARIOS = EXAMPLES.parents[1] / "scenarios"
Json = dict[str, Any]

STATUS: Json = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "agent.status",
    "params": {"runId": "run-7f2"},
}
CANCEL: Json = {"jsonrpc": "2.0", "method": "agent.cancel", "params": {"runId": "run-7f2"}}
QUERIES: tuple[Json, ...] = (
    STATUS,
    {**STATUS, "params": {"agentId": "word-stats", "after": "summit.calls/0/0"}},
    {**STATUS, "method": "agent.schema", "params": {"agentId": "word-stats", "version": "1.2.0"}},
    {**STATUS, "method": "agent.list", "params": {"role": "x-text", "limit": 1, "cursor": "a"}},
    {**STATUS, "method": "tool.list", "params": {"agentId": "word-stats", "dialect": "mcp"}},
)


def summit() -> list[bytes]:
    return [
        *_posted("/summit"),
        *_examples("summit/calls", "call"),
        *[_text(query) for query in QUERIES],
        *_odd(_text(STATUS)),
        _text(CANCEL),
        _text([CANCEL, CANCEL]),
        _text([CANCEL, {**CANCEL, "id": "c"}, {**CANCEL, "jsonrpc": "1.0"}, *QUERIES]),
        _text([{**CANCEL, "params": None}, {**CANCEL, "caller": ""}, {**CANCEL, "more": 1}]),
    ]


def asap() -> list[bytes]:
    sends = [send(text) for text in _examples("asap", "envelope")]
    good = send((EXAMPLES / "asap/minimal.json").read_bytes())
    no_text = (b'{"a": "\\ud800", "b": [1e999]}', b'{"\\ud800": 1e999}', b'{"\\ud800": {"a": 1}}')
    inputs = [good.replace(b'"input": {}', b'"input": ' + text) for text in no_text]
    return [*_posted("/asap"), *sends, *_odd(good), *inputs]


def _examples(folder: str, member: str) -> list[bytes]:
    """Those of a kind that are valid, and those that are not, beside which is said why."""
    valid = sorted((EXAMPLES / folder).glob("*.json"))
    refused = sorted((EXAMPLES / folder / "invalid").glob("*.json"))
    values = [json.loads(path.read_bytes())[member] for path in refused]
    return [*[path.read_bytes() for path in valid], *[_text(value) for value in values]]


def send(envelope: bytes) -> bytes:
    """A request with the text of an envelope, which may be no JSON."""
    head = b'{"jsonrpc": "2.0", "id": 1, "method": "asap.send", "params": {"envelope": '
    return head + envelope + b', "idempotency_key": "k"}}'


def _posted(path: str) -> list[bytes]:
    """In scenarios."""
    lines = [
        json.loads(line)
        for file in sorted(SCENARIOS.glob("*.jsonl"))
        for line in file.read_text("utf-8").splitlines()
        if f'"POST {path}' in line
    ]
    bodies = [line.get("body") for line in lines if line["query"].partition("?")[0].endswith(path)]
    return [body.encode() if isinstance(body, str) else _text(body) for body in bodies]


def _odd(good: bytes) -> list[bytes]:
    """Made of a request that is fit."""
    request = json.loads(good)
    first, last = good.index(b"{"), good.rindex(b"}")
    nests = [request["params"], [request["params"]], []]
    for depth in (63, 199, 201):
        nests.append({"deep": json.loads("[" * depth + "]" * depth)})
    batches: list[Any] = [[], [[]], [1, None], [request], [request, request], [1] * 101]
    return [
        *[_text({**request, "id": id}) for id in (*ODD, 7.0, True, ["a"], {"id": 1})],
        *[_text({**request, "params": params}) for params in nests],
        *[_text({name: request[name] for name in request if name != left}) for left in request],
        *[_text(batch) for batch in [*batches, [request, {**request, "id": None}, request]]],
        good[: first + 1] + b'"id": 2, ' + good[first + 1 :],
        good[:last] + b', "jsonrpc": "2.0"}',
        good[:last] + b', "params": {"a": 1, "a": 2}}',
        good.replace(b'"method": "', b'"method": "\xff\xfe'),
        good.replace(b'"method": "', b'"method": "\\ud800'),
        good.replace(b'"id": 1', b'"id": "\\ud800"'),
        good.replace(b'"id": 1', b'"id": 1e999'),
        good.replace(b'"id": 1', b'"id": NaN'),
        good.replace(b'"id": 1', b'"id": 1' + b"0" * 400),
        b"\xef\xbb\xbf" + good,
        good.decode().encode("utf-16"),
        good[:last],
        b"[" * 3000,
        b"[" * 300 + b"]" * 300,
        b"",
        b" ",
        b"\xff",
        b"null",
        b'"2.0"',
    ]


def _text(value: Any) -> bytes:
    return json.dumps(value).encode()
