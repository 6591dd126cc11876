"""The transparency log and Go's `sumdb/note`, `sumdb/tlog` and the formats of C2SP, both ways."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from streams.ops.tlog.entries import RecordEntry
from streams.ops.tlog.keys import (
    PrivateKey,
    cosign_checkpoint,
    cosigner_key,
    sign_checkpoint,
    verifier_key,
)
from streams.ops.tlog.merkle import EMPTY_ROOT, Tree, leaf_hash, prove_inclusion
from streams.ops.tlog.note import Checkpoint, Note, parse_note, to_base64
from streams.ops.tlog.policy import Policy, parse_policy
from streams.ops.tlog.receipt import check_receipt, encode_receipt
from streams.ops.tlog.tiles import HEIGHT, WIDTH, Tile, encode_bundle, hash_tile, width_of
from tests.interop.go_tools import GoTool
from tests.processes import ROOT, environ_of

pytestmark = pytest.mark.slow
ORIGIN = "hr.example.com/tlog"
SIZES = (0, 1, 2, 3, 255, 256, 257, 300, 600)
COUNT = SIZES[-1]
LOG_KEYS: tuple[PrivateKey, ...] = (
    Ed25519PrivateKey.from_private_bytes(bytes(range(32))),
    MLDSA44PrivateKey.from_seed_bytes(bytes([1]) * 32),
)
WITNESSES: dict[str, PrivateKey] = {
    "w1.example": Ed25519PrivateKey.from_private_bytes(bytes([2]) * 32),
    "w2.example": MLDSA44PrivateKey.from_seed_bytes(bytes([3]) * 32),
}
LINES = [RecordEntry("t", 0, n, 1_732_435_200_000 + n, f"{n:064x}").encode() for n in range(COUNT)]
TREE = Tree(map(leaf_hash, LINES))
POLICY = "".join(
    [
        *(f"log {verifier_key(ORIGIN, key)}\n" for key in LOG_KEYS),
        *(f"witness {name} {cosigner_key(name, key)}\n" for name, key in WITNESSES.items()),
        "group both all w1.example w2.example\nquorum both\n",
    ]
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> GoTool:
    folder = tmp_path_factory.mktemp("go")
    return GoTool(".", folder, Path(__file__).parent / "tlog")


def signed(size: int) -> Note:
    checkpoint = Checkpoint(ORIGIN, size, TREE.root(size) if size else EMPTY_ROOT)
    return Note(checkpoint.text, tuple(sign_checkpoint(key, checkpoint, 1) for key in LOG_KEYS))


def cosigned(note: Note) -> Note:
    checkpoint = Checkpoint.parse(note.text)
    return note.add(cosign_checkpoint(name, key, checkpoint, 2) for name, key in WITNESSES.items())


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def receipt(index: int, size: int = COUNT) -> bytes:
    hashes = prove_inclusion(index, size, TREE.node)
    return encode_receipt(LINES[index], index, hashes, cosigned(signed(size)).encode())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Write the whole log, receipts that hold and receipts that do not."""
    write(tmp_path / "log.vkey", f"{verifier_key(ORIGIN, LOG_KEYS[0])}\n".encode())
    with_urls = "".join(
        f"{line} https://w.example/{number}\n" if line.startswith("witness") else f"{line}\n"
        for number, line in enumerate(POLICY.splitlines())
    )
    write(tmp_path / "policy", with_urls.encode())
    write(tmp_path / "entries", encode_bundle(LINES))
    for size in SIZES:
        write(tmp_path / "notes" / str(size), cosigned(signed(size)).encode())
    for level in range(2):
        for index in range((COUNT >> HEIGHT * level) // WIDTH + 1):
            tile = Tile(level, index, width_of(level, index, COUNT))
            if tile.width:
                write(tmp_path / tile.path, hash_tile(TREE, tile))
    for index in (0, 1, 255, 256, 599):
        write(tmp_path / "receipts" / str(index), receipt(index))
    write(tmp_path / "receipts" / "2", receipt(2, 3))
    entry = to_base64(LINES[7]).encode()
    refused = {
        "entry": receipt(7).replace(entry, to_base64(LINES[8]).encode()),
        "index": receipt(7).replace(b"index 7\n", b"index 6\n"),
        "size": receipt(7).replace(b"\n600\n", b"\n601\n"),
    }
    for name, data in refused.items():
        write(tmp_path / "refused" / name, data)
        assert check_receipt(data, policy()).fault is not None
    return tmp_path


def policy() -> Policy:
    return parse_policy(POLICY.encode())


def test_go_verifies_checkpoints_tiles_and_receipts(program: GoTool, log: Path) -> None:
    ran = program.run(str(log), cwd=log)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == f"{len(SIZES)} notes, {COUNT} entries\n"


@pytest.fixture
def offline() -> tuple[str, ...]:
    """Return the command that runs another one without any network, not even that of the host."""
    command = ("unshare", "--map-root-user", "--net")
    if shutil.which("unshare") is None or subprocess.run([*command, "true"]).returncode:
        pytest.skip("this user may not run commands without a network")
    return command


def test_receipts_are_verified_without_a_network(
    program: GoTool, log: Path, offline: tuple[str, ...]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"import socket; socket.create_connection({server.getsockname()}, 5)"
        for prefix, code in (((), 0), (offline, 1)):
            command = [*prefix, sys.executable, "-c", connect]
            assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == code
    ran = program.run(str(log), cwd=log, prefix=offline)
    assert (ran.returncode, ran.stdout) == (0, f"{len(SIZES)} notes, {COUNT} entries\n"), ran.stderr
    for name, code in (("receipts/0", 0), ("receipts/599", 0), ("refused/entry", 1)):
        headrace = (
            "-m",
            "streams.cli",
            "audit",
            "check",
            "--json",
            "--policy",
            str(log / "policy"),
        )
        checked = subprocess.run(
            [*offline, sys.executable, *headrace, str(log / name)],
            cwd=ROOT,
            env=environ_of({}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.returncode == code, checked.stderr
        assert json.loads(checked.stdout)["holds"] is (code == 0)


@pytest.mark.parametrize(
    ("name", "place"),
    [("tile/0/001", 40), ("notes/257", 120), ("receipts/0", 300), ("entries", 50)],
)
def test_go_is_one_that_sees_what_was_changed(
    program: GoTool, log: Path, name: str, place: int
) -> None:
    data = bytearray((log / name).read_bytes())
    data[place] ^= 1
    (log / name).write_bytes(data)
    assert program.run(str(log), cwd=log).returncode == 1


def test_cosignatures_of_go_are_a_quorum(program: GoTool, tmp_path: Path) -> None:
    note = tmp_path / "note"
    note.write_bytes(signed(COUNT).encode())
    for name, key in WITNESSES.items():
        verifier = cosigner_key(name, key)
        seed = key.private_bytes_raw()
        encoded = to_base64(bytes([verifier.type]) + seed)
        text = f"PRIVATE+KEY+{name}+{verifier.id}+{encoded}\n"
        (tmp_path / f"{name}.skey").write_text(text)
    ran = program.run("cosign", str(note), cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    cosigned_note = parse_note(ran.stdout.encode())
    checkpoint = Checkpoint.parse(cosigned_note.text)
    cosignatures = policy().cosignatures(cosigned_note, checkpoint)
    assert [each.name for each in cosignatures] == list(WITNESSES)
    hashes = prove_inclusion(5, COUNT, TREE.node)
    data = encode_receipt(LINES[5], 5, hashes, ran.stdout.encode())
    assert check_receipt(data, policy()).fault is None
