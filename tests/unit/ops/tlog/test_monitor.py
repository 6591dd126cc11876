"""Tests of the monitor of a served log: growth it takes, and each alarm it raises."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from streams.cli import main
from streams.errors import LogUnavailable
from streams.ops.tlog.entries import RecordEntry
from streams.ops.tlog.keys import sign_checkpoint
from streams.ops.tlog.merkle import Tree, leaf_hash
from streams.ops.tlog.monitor import LogMonitor, MonitorAlarmed, ObservedHead
from streams.ops.tlog.note import Checkpoint, Note, NoteSignature, parse_note
from streams.ops.tlog.policy import parse_policy
from streams.ops.tlog.remote import RemoteLog
from streams.ops.tlog.tiles import WIDTH, encode_bundle, hash_tile, parse_path
from tests.unit.ops.tlog.example_log import KEY, ORIGIN, POLICY, PRIVATE
from tests.unit.ops.tlog.witness_double import WitnessDouble

URL = "http://log.example/tlog"
NOW_S = 1_732_435_400.0
ALL = [RecordEntry("t", 0, n, 1_732_435_200_000, f"{n:064x}").encode() for n in range(700)]
OTHER = [RecordEntry("t", 1, n, 1_732_435_200_000, f"{n:064x}").encode() for n in range(700)]


class HostedLog:
    """A log over HTTP.  changed: the path of a file with a wrong byte.  is_away: it answers 503."""

    def __init__(self, lines: list[bytes], origin: str = ORIGIN, key: str = "") -> None:
        self.lines, self.origin = lines, origin
        self.private = PRIVATE if not key else Ed25519PrivateKey.from_private_bytes(key.encode())
        self.changed = ""
        self.is_away = False
        self.witness: WitnessDouble | None = None

    def answer(self, request: httpx.Request) -> httpx.Response:
        if self.is_away:
            return httpx.Response(503)
        path = request.url.path.removeprefix("/tlog/")
        body = bytearray(self._read(path))
        if path == self.changed:
            body[-2] ^= 1
        return httpx.Response(200, stream=httpx.ByteStream(bytes(body)))

    def _read(self, path: str) -> bytes:
        tree, tile = Tree(map(leaf_hash, self.lines)), parse_path(path)
        if tile is None:
            return self._sign(Checkpoint(self.origin, tree.size, tree.root())).encode()
        if tile.level is None:
            return encode_bundle(self.lines[tile.index * WIDTH :][: tile.width])
        return hash_tile(tree, tile)

    def _sign(self, checkpoint: Checkpoint) -> Note:
        lines: list[NoteSignature] = [sign_checkpoint(self.private, checkpoint, 0)]
        if self.witness is not None:
            data = checkpoint.text.encode() + b"\n" + self.witness.cosign(checkpoint)
            lines += parse_note(data).signatures
        return Note(checkpoint.text, tuple(lines))


class Watched:
    """A monitor whose waits take no time."""

    def __init__(
        self, *logs: HostedLog, policy: str = POLICY, max_age_s: float | None = None
    ) -> None:
        self.logs, self.now = logs, NOW_S
        self.policy, self.max_age_s = parse_policy(policy.encode()), max_age_s
        self.head: ObservedHead | None = None
        self.on_wait: Callable[[], object] = lambda: None

    @contextmanager
    def monitor(self) -> Iterator[LogMonitor]:
        with ExitStack() as stack:
            remotes = [
                stack.enter_context(RemoteLog(URL, httpx.MockTransport(log.answer)))
                for log in self.logs
            ]
            yield LogMonitor(
                self.policy,
                ORIGIN,
                remotes,
                lambda: self.now,
                self.wait,
                max_age_s=self.max_age_s,
                with_entries=True,
            )

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        self.on_wait()
        return False

    def look(self) -> int:
        """Look once, and return the size of the log."""
        with self.monitor() as monitor:
            self.head = monitor.look(self.head)
        return self.head.checkpoint.size

    def alarm(self) -> str:
        """Look once, and return the code of the alarm."""
        with self.monitor() as monitor, pytest.raises(MonitorAlarmed) as raised:
            monitor.look(self.head)
        assert raised.value.notes
        return str(raised.value.alarm)


def test_a_log_that_grows_is_followed() -> None:
    log = HostedLog([])
    watched = Watched(log)
    for size in (0, 1, 2, 3, 3, 4, 255, 256, 257, 512, 700):
        log.lines = ALL[:size]
        assert watched.look() == size


@pytest.mark.parametrize(("before", "after"), [(5, 5), (5, 6), (4, 300), (300, 300), (256, 700)])
def test_another_history_is_a_split_view(before: int, after: int) -> None:
    log = HostedLog(ALL[:before])
    watched = Watched(log)
    watched.look()
    log.lines = OTHER[:after]
    assert watched.alarm() == "split_view"


def test_a_log_that_stays_shorter_has_shrunk() -> None:
    log = HostedLog(ALL[:300])
    watched = Watched(log)
    watched.look()
    log.lines = ALL[:299]
    assert watched.alarm() == "log_shrunk"
    assert watched.now - NOW_S == 60


def test_a_log_that_lags_is_asked_again() -> None:
    log = HostedLog(ALL[:300])
    watched = Watched(log)
    watched.look()
    log.lines = ALL[:299]
    watched.on_wait = lambda: setattr(log, "lines", ALL[:301])
    assert watched.look() == 301


@pytest.mark.parametrize(
    ("path", "alarm"),
    [
        ("tile/0/001.p/44", "tiles_invalid"),
        ("tile/1/000.p/1", "tiles_invalid"),
        ("tile/entries/001.p/44", "entries_invalid"),
    ],
)
def test_a_file_that_does_not_lead_to_the_root(path: str, alarm: str) -> None:
    log = HostedLog(ALL[:270])
    watched = Watched(log)
    watched.look()
    log.lines, log.changed = ALL[:300], path
    assert watched.alarm() == alarm


def test_entries_are_there_and_in_order() -> None:
    for lines in ([ALL[1], ALL[0]], [ALL[0], ALL[0]]):
        assert Watched(HostedLog(lines)).alarm() == "entries_invalid"
    log = HostedLog(ALL[:3])
    watched = Watched(log)
    with watched.monitor() as monitor:
        head = monitor.look(monitor.look(None))
        log.lines = [*ALL[:3], ALL[1]]
        with pytest.raises(MonitorAlarmed, match="entries_invalid: entry 3 lies below"):
            monitor.look(head)


def test_a_checkpoint_that_the_policy_does_not_accept() -> None:
    assert Watched(HostedLog(ALL[:3], key="k" * 32)).alarm() == "signature_invalid"
    assert Watched(HostedLog(ALL[:3], origin="example.com/other")).alarm() == "signature_invalid"
    witness = WitnessDouble("w1")
    policy = f"log {KEY}\n{witness.line}quorum w1\n"
    log = HostedLog(ALL[:3])
    watched = Watched(log, policy=policy)
    assert watched.alarm() == "quorum_not_met"
    log.witness = witness
    assert watched.look() == 3


def test_a_log_that_is_not_cosigned_anew_is_stale() -> None:
    witness = WitnessDouble("w1")
    log = HostedLog(ALL[:3])
    log.witness = witness
    watched = Watched(log, policy=f"log {KEY}\n{witness.line}quorum w1\n", max_age_s=100)
    watched.look()
    watched.now += 1
    assert watched.alarm() == "stale"
    witness.time_s += 1
    assert watched.look() == 3


def test_the_log_at_another_address_is_the_same() -> None:
    first, second = HostedLog(ALL[:300]), HostedLog(ALL[:290])
    watched = Watched(first, second)
    assert watched.look() == 300
    second.lines = ALL[:310]
    assert watched.look() == 300
    for size in (290, 300, 310):
        second.lines = OTHER[:size]
        watched.head = None
        assert watched.alarm() == "split_view"


def test_a_log_that_is_not_there() -> None:
    log = HostedLog([])
    log.is_away = True
    with Watched(log).monitor() as monitor, pytest.raises(LogUnavailable):
        monitor.look(None)


@pytest.fixture
def hosted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostedLog:
    monkeypatch.chdir(tmp_path)
    Path("p").write_text(POLICY)
    log, client = HostedLog(ALL[:300]), httpx.AsyncClient
    transport = httpx.MockTransport(lambda request: log.answer(request))
    monkeypatch.setattr(httpx, "AsyncClient", lambda **_: client(transport=transport))
    return log


def run(*arguments: str, code: int = 0) -> Result:
    command = ["audit", "monitor", URL, "--policy", "p", "--once", *arguments]
    result = CliRunner().invoke(main, command, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def test_the_command_keeps_the_last_checkpoint(hosted: HostedLog) -> None:
    assert run("--state", "s").stdout.startswith("size 300 (+300) root ")
    hosted.lines = ALL[:310]
    members = json.loads(run("--state", "s", "--entries", "--json").stdout)
    assert (members["first"], members["size"], members["cosigners"]) == (300, 310, [])
    assert Checkpoint.parse(parse_note(Path("s").read_bytes()).text).size == 310
    run()
    assert run().stdout.startswith("size 310 (+0) root ")


def test_an_alarm_of_the_command_leaves_evidence(hosted: HostedLog) -> None:
    run("--state", "s")
    before = Path("s").read_bytes()
    hosted.lines = OTHER[:310]
    result = run("--state", "s", code=1)
    assert "split_view: " in result.stderr
    (evidence,) = Path().glob("s.evidence-*")
    assert evidence.read_bytes().startswith(before)
    assert f"{ORIGIN}\n310\n" in evidence.read_text()
    assert Path("s").read_bytes() == before


def test_bad_input_of_the_command(hosted: HostedLog) -> None:
    Path("s").write_text("noise")
    assert "s has no checkpoint" in run("--state", "s", code=2).stderr
    assert "file:///etc" in run("--also", "file:///etc", code=2).stderr
    hosted.is_away = True
    assert "status 503" in run(code=3).stderr
