"""A transcript is a chain of lines: whatever changes in it is found where it stands."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import canonical_json, parse_ijson, sha256_hex
from streams.errors import TranscriptBroken
from streams.sdk.local_bus.transcript import KINDS, NO_HASH, Transcript
from tests.examples import example_count

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(-1e300, 1e300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
IDS = st.none() | st.text(max_size=8)
ENTRIES = st.tuples(st.integers(0, 2**53 - 1), st.sampled_from(KINDS), IDS, IDS, JSON)


def written(path: Path, *bodies: Any) -> str:
    """A transcript of these bodies; its head."""
    with Transcript(path) as transcript:
        for number, body in enumerate(bodies):
            transcript.append(1000 + number, KINDS[number % 8], f"t{number}", "c", body)
        return transcript.head


def test_a_line_is_as_the_spec_says(tmp_path: Path) -> None:
    head = written(tmp_path / "t", {"b": 1.0, "a": "é"}, None)
    first, second, end = (tmp_path / "t").read_bytes().split(b"\n")
    assert end == b""
    entry = parse_ijson(second)
    assert list(entry) == sorted(
        ["seq", "at", "kind", "taskId", "correlationId", "body", "prev", "hash"]
    )
    assert (entry["seq"], entry["at"], entry["kind"], entry["taskId"]) == (2, 1001, "result", "t1")
    assert entry["prev"] == parse_ijson(first)["hash"]
    assert parse_ijson(first)["prev"] == NO_HASH == "0" * 64
    assert '"body":{"a":"é","b":1}'.encode() in first
    hashed = {name: member for name, member in entry.items() if name != "hash"}
    assert entry["hash"] == head == sha256_hex(canonical_json(hashed))


def test_an_empty_file_verifies(tmp_path: Path) -> None:
    assert written(tmp_path / "t") == NO_HASH
    assert Transcript.verify(tmp_path / "t") == {
        "ok": True, "lines": 0, "head": NO_HASH, "firstBad": None,
    }  # fmt: skip


def test_a_transcript_goes_on_where_it_ended(tmp_path: Path) -> None:
    head = written(tmp_path / "t", 1, 2)
    with Transcript(tmp_path / "t", fsync=True) as transcript:
        assert (transcript.lines, transcript.head) == (2, head)
        entry = transcript.append(5, "ack", None, None, {})
    assert (entry["seq"], entry["prev"]) == (3, head)
    assert Transcript.verify(tmp_path / "t", entry["hash"]).ok


def test_every_line_is_there_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    with Transcript(tmp_path / "t") as transcript:
        for number in range(1, 4):
            transcript.append(0, "task", None, None, number)
            assert Transcript.verify(tmp_path / "t", transcript.head).lines == number


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with Transcript(tmp_path / "t") as transcript, pytest.raises(ValueError, match="kinds are"):
        transcript.append(0, "gossip", None, None, 1)


def test_a_closed_transcript_takes_nothing(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "t")
    transcript.close()
    transcript.close()
    with pytest.raises(ValueError, match="closed"):
        transcript.append(0, "task", None, None, 1)


def test_one_that_nobody_closes_is_whole_all_the_same(tmp_path: Path) -> None:
    head = Transcript(tmp_path / "t").append(0, "task", None, None, 1)["hash"]
    gc.collect()
    assert Transcript.verify(tmp_path / "t", head).ok


def flips(content: bytes) -> Iterator[tuple[int, bytes]]:
    """(line, content) with one byte changed, each byte in two ways."""
    line = 1
    for offset, byte in enumerate(content):
        for other in {byte ^ 1, 0x0A, 0x20} - {byte}:
            yield line, content[:offset] + bytes([other]) + content[offset + 1 :]
        line += byte == 0x0A


def test_any_one_byte_that_changes_is_found_at_its_line(tmp_path: Path) -> None:
    head = written(tmp_path / "t", {"ok": True}, "é\n", 3)
    content = (tmp_path / "t").read_bytes()
    assert Transcript.verify(tmp_path / "t", head).ok
    changed = tmp_path / "changed"
    for line, bytes_ in flips(content):
        changed.write_bytes(bytes_)
        verification = Transcript.verify(changed)
        assert (verification.ok, verification.firstBad) == (False, line)


@settings(max_examples=example_count(60))
@given(st.lists(ENTRIES, min_size=1, max_size=5), st.data())
def test_any_change_in_any_transcript_is_found(entries: list[Any], data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t"
        with Transcript(path) as transcript:
            for entry in entries:
                transcript.append(*entry)
        assert Transcript.verify(path, transcript.head).ok
        content = path.read_bytes()
        offset = data.draw(st.integers(0, len(content) - 1))
        other = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[offset]))
        path.write_bytes(content[:offset] + bytes([other]) + content[offset + 1 :])
        assert Transcript.verify(path).firstBad == content[:offset].count(b"\n") + 1


def test_a_tail_that_was_cut_off_is_seen_by_the_head_alone(tmp_path: Path) -> None:
    head = written(tmp_path / "t", 1, 2, 3)
    lines = (tmp_path / "t").read_bytes().splitlines(keepends=True)
    for count in range(3):
        (tmp_path / "t").write_bytes(b"".join(lines[:count]))
        assert Transcript.verify(tmp_path / "t").ok
        verification = Transcript.verify(tmp_path / "t", head)
        assert (verification.ok, verification.lines, verification.firstBad) == (False, count, None)


@pytest.mark.parametrize("order", [(1, 0, 2), (0, 2, 1), (0, 0, 1, 2), (0, 2), (1, 2)])
def test_lines_moved_repeated_or_left_out_are_found(order: tuple[int, ...], tmp_path: Path) -> None:
    written(tmp_path / "t", 1, 2, 3)
    lines = (tmp_path / "t").read_bytes().splitlines(keepends=True)
    (tmp_path / "t").write_bytes(b"".join(lines[i] for i in order))
    expected = next(i for i, line in enumerate(order, 1) if line != i - 1)
    assert Transcript.verify(tmp_path / "t").firstBad == expected


@pytest.mark.parametrize("tail", [b"x", b"\n", b"{}\n", b'{"seq":2}\n', b"\xff\xfe\n", b"[]"])
def test_what_is_no_entry_is_bad(tail: bytes, tmp_path: Path) -> None:
    written(tmp_path / "t", 1)
    with (tmp_path / "t").open("ab") as file:
        file.write(tail)
    assert Transcript.verify(tmp_path / "t").firstBad == 2


def test_a_file_that_does_not_verify_is_not_opened(tmp_path: Path) -> None:
    written(tmp_path / "t", 1, 2)
    content = (tmp_path / "t").read_bytes()
    (tmp_path / "t").write_bytes(content[:-1])
    with pytest.raises(TranscriptBroken, match="line 2"):
        Transcript(tmp_path / "t")
    assert (tmp_path / "t").read_bytes() == content[:-1]


def test_other_spellings_of_the_same_values_are_bad(tmp_path: Path) -> None:
    written(tmp_path / "t", {"a": 1})
    content = (tmp_path / "t").read_bytes()
    for spelled in (b'{"a":1.0}', b'{"a": 1}', b'{"\\u0061":1}'):
        (tmp_path / "t").write_bytes(content.replace(b'{"a":1}', spelled))
        assert Transcript.verify(tmp_path / "t").firstBad == 1
