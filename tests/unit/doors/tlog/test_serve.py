"""The transparency log over HTTP: what is published, and nothing beyond it."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

import httpx
import pytest

from streams.access import Role
from streams.access.tokens import new_token
from streams.engine.records import Output
from streams.errors import PolicyInvalid
from streams.ops.tlog.keys import cosign_checkpoint
from streams.ops.tlog.merkle import Tree, leaf_hash
from streams.ops.tlog.note import Checkpoint, parse_note
from streams.ops.tlog.tiles import WIDTH, Tile, encode_bundle, width_of
from streams.ops.tlog.writer import NOT_PUBLISHED
from tests.unit.doors.tlog.served import ServedLog, get, rule_of
from tests.unit.ops.tlog.example_log import KEY, ORIGIN
from tests.unit.ops.tlog.logged import HEADS
from tests.unit.ops.tlog.witness_double import WitnessDouble

TILE = "/tlog/tile/0/000"


@pytest.fixture
def served(tmp_path: Path) -> ServedLog:
    return ServedLog(tmp_path)


def checkpoint_of(response: httpx.Response) -> Checkpoint:
    assert response.status_code == 200, response.text
    return Checkpoint.parse(parse_note(response.content).text)


@pytest.mark.parametrize("steps", [(1,), (255, 1, 1), (300, 212), (600, 5)])
def test_every_width_up_to_the_published_size_is_served(
    served: ServedLog, steps: tuple[int, ...]
) -> None:
    for count in steps:
        served.write(count)
    lines = served.logged.lines()
    tree = Tree(map(leaf_hash, lines))
    with served.gateway() as http:
        assert checkpoint_of(get(http, "/tlog/checkpoint")) == Checkpoint(
            ORIGIN, len(lines), tree.root()
        )
        for level in (None, 0, 1, 2):
            for index in range(4):
                max_width = width_of(level, index, len(lines))
                widths = {1, max_width // 2, max_width - 1, max_width, max_width + 1, WIDTH}
                for width in widths & set(range(1, WIDTH + 1)):
                    tile = Tile(level, index, width)
                    response = get(http, f"/tlog/{tile.path}")
                    if width > max_width:
                        assert rule_of(response) == (404, "tile_unknown")
                    else:
                        assert response.content == expected_tile(tile, tree, lines)


def expected_tile(tile: Tile, tree: Tree, lines: list[bytes]) -> bytes:
    first = tile.index * WIDTH
    if tile.level is None:
        return encode_bundle(lines[first : first + tile.width])
    return tree.hashes(8 * tile.level, first, tile.width)


def test_headers_say_how_long_each_answer_holds(served: ServedLog) -> None:
    served.write(WIDTH)
    with served.gateway() as http:
        checkpoint = get(http, "/tlog/checkpoint")
        assert checkpoint.headers["content-type"] == "text/plain; charset=utf-8"
        assert checkpoint.headers["cache-control"] == "no-cache"
        tag = checkpoint.headers["etag"]
        assert get(http, "/tlog/checkpoint", **{"if-none-match": tag}).status_code == 304
        tile = get(http, TILE)
        assert tile.headers["content-type"] == "application/octet-stream"
        assert tile.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert "content-encoding" not in get(http, TILE, **{"accept-encoding": "gzip"}).headers


@pytest.mark.parametrize("path", ["checkpoint", "tile/0/000.p/3", "tile/entries/000.p/3"])
def test_a_head_request_has_the_headers_of_the_answer(served: ServedLog, path: str) -> None:
    served.write(3)
    with served.gateway() as http:
        whole = get(http, f"/tlog/{path}")
        head = asyncio.run(http.head(f"/tlog/{path}", headers={"accept-encoding": "identity"}))
    assert (whole.status_code, head.status_code, head.content) == (200, 200, b"")
    names = ("content-type", "content-length", "cache-control", "etag")
    assert [head.headers.get(name) for name in names] == [whole.headers.get(n) for n in names]


def test_bundles_are_compressed_for_those_that_accept_it(served: ServedLog) -> None:
    served.write(WIDTH)
    with served.gateway() as http:
        path = "/tlog/tile/entries/000"
        plain = get(http, path)
        packed = get(http, path, **{"accept-encoding": "gzip"})
        assert (packed.headers["content-encoding"], packed.headers["vary"]) == (
            "gzip",
            "accept-encoding",
        )
        assert "content-encoding" not in get(http, path, **{"accept-encoding": "gzip;q=0"}).headers
        assert packed.content == plain.content == gzip.decompress(gzip.compress(plain.content))
        assert int(packed.headers["content-length"]) < len(plain.content)


@pytest.mark.parametrize(
    "path",
    ["0/0", "0/0000", "0/000.p/0", "0/000.p/256", "0/000.p/03", "00/000", "64/000", "x/000", "0"],
)
def test_a_name_of_no_tile_is_unknown(served: ServedLog, path: str) -> None:
    served.write(WIDTH)
    with served.gateway() as http:
        assert rule_of(get(http, f"/tlog/tile/{path}")) == (404, "tile_unknown")


def test_entries_without_a_published_checkpoint_are_not_served(
    served: ServedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served.gateway() as http:
        assert rule_of(get(http, "/tlog/checkpoint")) == (404, "not_published")
    served.write(3)
    served.logged.write_facts(2)
    with monkeypatch.context() as patched, served.logged.writer() as writer:
        patched.setattr(writer, "_publish", lambda: NOT_PUBLISHED)
        assert writer.round().size == 5
    with served.gateway() as http:
        assert checkpoint_of(get(http, "/tlog/checkpoint")).size == 3
        assert get(http, f"{TILE}.p/3").status_code == 200
        assert rule_of(get(http, f"{TILE}.p/4")) == (404, "tile_unknown")


def test_a_checkpoint_of_another_history_is_not_served(
    served: ServedLog, caplog: pytest.LogCaptureFixture
) -> None:
    served.write(3)
    served.write(2)
    for size in (4, 5, 9):
        served.logged.add_head(Checkpoint(ORIGIN, size, bytes(32)))
        served.logged.log.append([Output(HEADS.topic, ORIGIN.encode(), b"noise")])
    with served.gateway() as http:
        assert checkpoint_of(get(http, "/tlog/checkpoint")).size == 5
    errors = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert [text.splitlines()[2] for text in errors] == ["4", "5"]


def test_a_view_that_goes_on_serves_what_comes(served: ServedLog) -> None:
    for count in (200, 100, 300):
        served.write(count)
        with served.gateway() as http:
            published = checkpoint_of(get(http, "/tlog/checkpoint"))
            assert published == served.logged.checkpoint()


def test_a_checkpoint_is_published_anew_under_a_changed_policy(served: ServedLog) -> None:
    served.write(3)
    witness = WitnessDouble("w1")
    policy = served.folder / "changed"
    policy.write_text(f"log {KEY}\n{witness.line}quorum w1\n")
    with served.gateway(tlog_policy=policy) as http:
        assert rule_of(get(http, "/tlog/checkpoint")) == (404, "not_published")
    checkpoint = served.logged.checkpoint()
    cosignature = cosign_checkpoint(witness.name, witness.private, checkpoint, witness.time_s)
    served.logged.add_head(checkpoint, cosignature)
    with served.gateway(tlog_policy=policy) as http:
        published = get(http, "/tlog/checkpoint")
        assert checkpoint_of(published) == checkpoint
        names = [line.name for line in parse_note(published.content).signatures]
        assert names == [ORIGIN, witness.name]


def test_without_a_policy_nothing_is_served(served: ServedLog) -> None:
    served.write(3)
    with served.gateway(tlog_policy=None) as http:
        for path in ("/tlog/checkpoint", TILE):
            assert rule_of(get(http, path)) == (404, "tlog_off")


def test_readers_are_served_and_all_others_where_the_log_is_open(served: ServedLog) -> None:
    served.write(3)
    tokens = served.folder / "tokens"
    secrets = {}
    for role in (Role.READER, Role.PRODUCER):
        secrets[role], entry = new_token("urn:asap:agent:planner", frozenset({role}))
        with tokens.open("a") as file:
            file.write(f"{entry.line()}\n")
    headers = {role: {"authorization": f"Bearer {secret}"} for role, secret in secrets.items()}
    for path in ("/tlog/checkpoint", f"{TILE}.p/3"):
        with served.gateway(tokens=tokens) as http:
            assert get(http, path).status_code == 401
            assert get(http, path, **headers[Role.PRODUCER]).status_code == 403
            assert get(http, path, **headers[Role.READER]).status_code == 200
        with served.gateway(tokens=tokens, tlog_open=True) as http:
            assert get(http, path).status_code == 200


def test_a_policy_that_is_none_stops_the_gateway(served: ServedLog) -> None:
    (served.folder / "broken").write_text("log\n")
    with (
        pytest.raises(PolicyInvalid, match="line 1"),
        served.gateway(tlog_policy=served.folder / "broken"),
    ):
        pytest.fail("the gateway has started")
