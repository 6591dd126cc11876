"""A whole log, as files and over HTTP, and the fsck of Tessera, which derives its tree anew."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from streams.log.reading import partitions
from streams.ops.tlog.export import LOG, write_export
from streams.ops.tlog.logged_topics import LOGGED
from tests.interop.go_tools import GoTool
from tests.unit.ops.tlog.example_log import KEY, ORIGIN, POLICY
from tests.unit.ops.tlog.logged import KEYS, Logged

pytestmark = pytest.mark.slow
SIZES = (1, 255, 256, 257, 600, 66_000)
"""The last one has tiles of three levels."""


class QuietHandler(SimpleHTTPRequestHandler):
    """A handler that serves files and writes no log."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder as any static server does, and return its address."""
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def fsck(tmp_path_factory: pytest.TempPathFactory) -> GoTool:
    return GoTool(".", tmp_path_factory.mktemp("go"), Path(__file__).parent / "fsck")


@pytest.fixture
def key(tmp_path: Path) -> str:
    path = tmp_path / "log.vkey"
    path.write_text(f"{KEY}\n")
    return str(path)


def write_log(folder: Path, *counts: int) -> Logged:
    """Write a log in rounds of so many entries."""
    logged = Logged(folder)
    with logged.writer() as writer:
        for count in counts:
            logged.write_facts(count)
            writer.round()
    return logged


@pytest.mark.parametrize("size", SIZES)
def test_the_folder_of_the_writer_is_whole(
    fsck: GoTool, key: str, tmp_path: Path, size: int
) -> None:
    log = write_log(tmp_path, size // 2, size - size // 2)
    assert log.checkpoint().size == size
    ran = fsck.run(key, str(log.folder), cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "whole\n"), ran.stderr
    with served(log.folder) as address:
        ran = fsck.run(key, address, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "whole\n"), ran.stderr


def test_an_export_is_whole(fsck: GoTool, key: str, tmp_path: Path) -> None:
    logged = write_log(tmp_path, 300, 300)
    tps = partitions(logged.log, [topic.name for topic in LOGGED])
    folder = tmp_path / "export"
    write_export(logged.log, "", KEYS.policy, POLICY.encode(), ORIGIN, tps, folder)
    ran = fsck.run(key, str(folder / LOG), cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "whole\n"), ran.stderr


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("tile/0/001", 40),
        ("tile/1/000.p/2", 3),
        ("tile/0/002.p/88", 3),
        ("tile/entries/001", 50),
        ("checkpoint", -20),
    ],
)
def test_a_damaged_file_is_seen(
    fsck: GoTool, key: str, tmp_path: Path, path: str, place: int
) -> None:
    file = write_log(tmp_path, 600).folder / path
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    assert fsck.run(key, str(tmp_path / "tlog"), cwd=tmp_path).returncode == 1
