"""`packet-replay --from`: the same output from files, without a broker."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import common, main
from streams.ops.audit import segment
from tests.unit.cli.apc.stage import SESSION, fill
from tests.unit.cli.looking import look_at
from tests.unit.envelopes import ack, idea
from tests.unit.views.bench import Bench


def replay(*words: str) -> Result:
    return CliRunner().invoke(main, ["packet-replay", *words])


@pytest.fixture
def live(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A service with two runs that have ended, one of them in two sessions."""
    fill(bench)
    bench.send("apc.packets", idea(40, trace__session_id="s2"), ack(idea(40), 41))
    bench.send("apc.packets", idea(50, trace__run_id="r2", trace__task_id="t9"))
    bench.now += 90_000_000
    bench.host.run()
    look_at(bench, monkeypatch)
    return bench


def export(bench: Bench, file: Path) -> Path:
    records = sorted(bench.records("apc.events"), key=lambda each: (each.partition, each.offset))
    segment.write(file, (), records)
    return file


def without_service(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("the service was asked")

    monkeypatch.setattr(common, "ask", refuse)


@pytest.mark.parametrize("more", [(), ("--session-id", SESSION), ("--task-id", "t1"), ("--text",)])
@pytest.mark.parametrize("kind", ["export", "compressed", "answer", "directory", "answers"])
def test_files_give_the_live_output(
    live: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, more: tuple[str, ...]
) -> None:
    expected = replay("--run-id", "r1", *more)
    assert expected.exit_code == 0, expected.output
    folder = tmp_path / "files"
    folder.mkdir()
    match kind:
        case "export":
            source = export(live, folder / "facts.jsonl")
        case "compressed":
            source = export(live, folder / "facts.jsonl.gz")
        case "answer":
            source = folder / "run.json"
            assert replay("--run-id", "r1", "--limit", "3", "--out", str(source)).exit_code == 0
        case "directory":
            export(live, folder / "facts.jsonl.gz")
            assert replay("--run-id", "r1", "--out", str(folder / "run.json")).exit_code == 0
            source = folder
        case _:
            for session in (SESSION, "s2"):
                out = ("--session-id", session, "--out", str(folder / f"{session}.json"))
                assert replay("--run-id", "r1", *out).exit_code == 0
            assert replay("--run-id", "r2", "--out", str(folder / "r2.json")).exit_code == 0
            (folder / "note.txt").write_text("a note\n")
            source = folder
    without_service(monkeypatch)
    again = replay("--run-id", "r1", "--from", str(source), *more)
    if kind == "answers" and more != ("--session-id", SESSION):
        assert again.exit_code == 2  # the files are parts, and nothing says that they are all
        assert "session_id" in again.stderr
        return
    assert again.exit_code == 0, again.output
    assert again.stdout == expected.stdout


def test_a_cut_list_says_how_to_get_the_rest(live: Bench) -> None:
    whole = json.loads(replay("--run-id", "r1").stdout)
    assert (whole["returned"], whole["hint"]) == (whole["event_count"], None)
    result = replay("--run-id", "r1", "--limit", "3")
    cut = json.loads(result.stdout)
    count = whole["event_count"]
    assert (cut["event_count"], cut["returned"]) == (count, 3)
    assert cut["hint"] == f"limit={count} returns all {count} steps"
    assert f"3 of {count} steps: --limit {count} shows all" in result.stderr
    assert f"--limit {count} shows all" in replay("--run-id", "r1", "--limit", "3", "--text").stdout


def test_a_run_without_packets_exits_with_1(live: Bench, tmp_path: Path) -> None:
    file = export(live, tmp_path / "facts.jsonl")
    for source in ((), ("--from", str(file))):
        result = replay("--run-id", "nothing", *source)
        assert result.exit_code == 1
        assert "no packet of run nothing" in result.stderr
        assert result.stdout == ""


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    for name, text in (("a.json", b"{}"), ("b.txt", b"text"), ("c.gz", gzip.compress(b"[1]"))):
        file = tmp_path / name
        file.write_bytes(text)
        result = replay("--run-id", "r1", "--from", str(file))
        assert result.exit_code == 2
        assert "audit export" in result.stderr


def test_an_answer_of_version_0_2_is_read(live: Bench, tmp_path: Path) -> None:
    file = tmp_path / "old.json"
    whole = replay("--run-id", "r2", "--out", str(file))
    old = json.loads(file.read_text())
    for name in ("session_id", "returned", "hint"):
        del old[name]
    for packet in old["packets"]:
        for name in ("session_id", "task_id", "position"):
            del packet[name]
    file.write_text(json.dumps(old))
    again = json.loads(replay("--run-id", "r2", "--from", str(file)).stdout)
    assert again["event_stream"] == json.loads(whole.stdout)["event_stream"]
    assert replay("--run-id", "r2", "--task-id", "t9", "--from", str(file)).exit_code == 2
