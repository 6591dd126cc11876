"""Receipts against the log as it is served now: grown, shorter, forked, damaged or not there."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from streams.cli import main
from streams.errors import LogUnavailable
from streams.ops.tlog import remote as remote_module
from streams.ops.tlog.keys import cosigner_key
from streams.ops.tlog.merkle import Tree, leaf_hash
from streams.ops.tlog.note import Checkpoint
from streams.ops.tlog.policy import Policy, parse_policy
from streams.ops.tlog.receipt import parse_receipt
from streams.ops.tlog.remote import RemoteLog, compare_with_log
from streams.ops.tlog.tiles import WIDTH, hash_tile, parse_path
from tests.unit.ops.tlog.example_log import LINES, NOTE, ORIGIN, POLICY, TREE, receipt, signed

URL = "https://log.example/tlog"
RECEIPT = parse_receipt(receipt())
MORE = [leaf_hash(str(number).encode()) for number in range(600)]
LEAVES = [leaf_hash(line) for line in LINES]
GROWN = Tree([*LEAVES, *MORE])
FORKED = Tree([LEAVES[0], LEAVES[2], LEAVES[1], *MORE])
Handler = Callable[[httpx.Request], httpx.Response]


def answer(body: bytes) -> httpx.Response:
    return httpx.Response(200, stream=httpx.ByteStream(body))


def serve(tree: Tree, changed: str = "", gone: str = "", origin: str = ORIGIN) -> Handler:
    """Serve a log as tlog-tiles says; one path can have another byte, one none."""
    note = signed(Checkpoint(origin, tree.size, tree.root()))

    def handle(request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/tlog/")
        tile = parse_path(path)
        if path == gone or (tile is None and path != "checkpoint"):
            return httpx.Response(404)
        body = bytearray(note.encode() if tile is None else hash_tile(tree, tile))
        if path == changed:
            body[40] ^= 1
        return answer(bytes(body))

    return handle


def compare(handler: Handler, policy: str = POLICY) -> tuple[str | None, str]:
    known: Policy = parse_policy(policy.encode())
    with RemoteLog(URL, httpx.MockTransport(handler)) as log:
        comparison = compare_with_log(RECEIPT, known, log)
    return comparison.fault, comparison.detail


@pytest.mark.parametrize("tree", [TREE, Tree([*LEAVES, MORE[0]]), GROWN])
def test_a_log_that_has_grown_begins_with_the_receipts(tree: Tree) -> None:
    expected = f"the log at {URL} has {tree.size} entries and begins with the receipt's"
    assert compare(serve(tree)) == (None, expected)


def test_a_log_whose_end_was_cut_off_is_shorter() -> None:
    fault, detail = compare(serve(Tree(LEAVES[:2])))
    assert (fault, detail) == (
        "log_shorter",
        f"the log at {URL} has 2 entries, the receipt's had 3",
    )


@pytest.mark.parametrize(
    "handler",
    [
        serve(FORKED),
        serve(Tree([*LEAVES[:2], MORE[0]])),
        serve(GROWN, changed="tile/0/000"),
        serve(GROWN, changed="tile/1/000.p/2"),
    ],
    ids=["forked", "same size", "a leaf", "a node"],
)
def test_another_log_is_inconsistent(handler: Handler) -> None:
    assert compare(handler)[0] == "log_inconsistent"


def test_a_checkpoint_that_the_policy_does_not_accept() -> None:
    witness = cosigner_key("w1", Ed25519PrivateKey.generate())
    quorum = POLICY.replace("quorum none", f"witness W1 {witness}\nquorum W1")
    assert compare(serve(GROWN), quorum)[0] == "quorum_not_met"
    assert compare(serve(GROWN, origin="example.com/other")) == (
        "log_unknown",
        f"the log at {URL} is example.com/other",
    )
    line = NOTE.signatures[0]
    forged = signed(Checkpoint(ORIGIN, 4, bytes(32)))._replace(signatures=(line,))
    fault, detail = compare(lambda _: answer(forged.encode()))
    assert fault == "signature_invalid"
    assert URL in detail


def test_a_full_tile_serves_for_a_partial_one_that_is_gone() -> None:
    """Let the log grow past the tile between the requests for checkpoint and tile."""
    small = Tree([*LEAVES, *MORE[:97]])
    note = signed(Checkpoint(ORIGIN, small.size, small.root()))
    paths: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/tlog/")
        paths.append(path)
        if path == "checkpoint":
            return answer(note.encode())
        tile = parse_path(path)
        assert tile is not None
        if tile.width < WIDTH:
            return httpx.Response(404)
        return answer(hash_tile(GROWN, tile))

    assert compare(handle)[0] is None
    assert paths == ["checkpoint", "tile/0/000.p/100", "tile/0/000"]


def refuse(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


@pytest.mark.parametrize(
    "handler",
    [
        refuse,
        lambda _: httpx.Response(404),
        lambda _: httpx.Response(500),
        lambda _: httpx.Response(302, headers={"Location": URL}),
        lambda _: answer(b"<html>"),
        lambda _: answer(b"x" * 70_000),
        serve(GROWN, gone="tile/0/000"),
        serve(GROWN, gone="tile/1/000.p/2"),
    ],
)
def test_a_log_that_cannot_be_read_is_no_finding(handler: Handler) -> None:
    with pytest.raises(LogUnavailable):
        compare(handler)


class DripServer(socketserver.ThreadingTCPServer):
    """A server whose answers end once `leaving` is set."""

    def __init__(self, handler: type[socketserver.BaseRequestHandler]) -> None:
        self.leaving = threading.Event()
        super().__init__(("127.0.0.1", 0), handler)


class Drip(socketserver.BaseRequestHandler):
    """An answer that goes on byte by byte until the client leaves."""

    begin = b""
    server: DripServer

    def handle(self) -> None:
        with suppress(OSError):
            self.request.sendall(b"HTTP/1.1 200 OK\r\n" + self.begin)
            while not self.server.leaving.wait(0.005):
                self.request.sendall(b"x")


@contextmanager
def dripping(begin: bytes) -> Iterator[str]:
    """Serve an answer that begins so, behind its first line; yield its address."""
    handler = type("Handler", (Drip,), {"begin": begin})
    with DripServer(handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.leaving.set()
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("begin", [b"header: ", b"content-length: 60000\r\n\r\n"])
def test_an_answer_that_does_not_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch, begin: bytes
) -> None:
    monkeypatch.setattr(remote_module, "ANSWER_TIMEOUT_S", 0.3)
    with (
        dripping(begin) as url,
        RemoteLog(url) as log,
        pytest.raises(LogUnavailable, match="takes longer"),
    ):
        log.read_checkpoint()


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Handler], None]:
    monkeypatch.chdir(tmp_path)
    Path("p").write_text(POLICY)
    Path("r").write_bytes(receipt())

    client = httpx.AsyncClient

    def use(handler: Handler) -> None:
        transport = httpx.MockTransport(handler)
        monkeypatch.setattr(httpx, "AsyncClient", lambda **_: client(transport=transport))

    return use


def check(*arguments: str, code: int = 0, url: str = URL) -> Result:
    command = ["audit", "check", "r", "--policy", "p", "--against", url, *arguments]
    result = CliRunner().invoke(main, command, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def test_the_command_compares_with_a_log(served: Callable[[Handler], None]) -> None:
    served(serve(GROWN))
    lines = check().stdout.splitlines()
    assert lines[0].endswith(f"the log at {URL} has 603 entries and begins with the receipt's")
    served(serve(FORKED))
    result = check(code=1)
    assert result.stdout.startswith("fails      log_inconsistent: the log at")
    assert "cosigned   by nobody; quorum none" in result.stdout
    assert NOTE.encode().decode() in result.stderr
    assert f"{ORIGIN}\n{FORKED.size}\n" in result.stderr
    assert json.loads(check("--json", code=1).stdout)["code"] == "log_inconsistent"
    served(refuse)
    assert "refused" in check(code=3).stderr


def test_the_command_refuses_what_is_no_address(served: Callable[[Handler], None]) -> None:
    served(refuse)
    assert "--against" in check(code=2, url="file:///etc").stderr


def test_a_receipt_that_does_not_hold_asks_no_log(served: Callable[[Handler], None]) -> None:
    served(refuse)
    Path("r").write_bytes(receipt().replace(b"index 0", b"index 1"))
    assert "proof_invalid" in check(code=1).stdout
