"""Entries: the test vectors, and lines that are none."""

from __future__ import annotations

from base64 import b64encode

import pytest

from streams.ops.tlog.entries import GapEntry, RecordEntry, parse_entry, record_digest
from streams.ops.tlog.merkle import leaf_hash
from tests.unit.ops.tlog.example_log import ENTRIES, FIRST, LINES


def test_the_vector_of_a_digest_and_a_leaf() -> None:
    assert FIRST.sha256 == "791fa14e66ad497a9512c9521d5b30e00837816416083e0b19f4eef002c8c28c"
    assert LINES[0] == (
        b"record apc.events/0/0 1732435200123 sha256:"
        b"791fa14e66ad497a9512c9521d5b30e00837816416083e0b19f4eef002c8c28c\n"
    )
    assert len(LINES[0]) == 108
    assert b64encode(leaf_hash(LINES[0])) == b"EhyEPNC777pPAUWF2TvHk01Me+MfM8Mv0hD5GnzxgS4="


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_line_is_read_as_it_was_written(entry: RecordEntry | GapEntry) -> None:
    assert parse_entry(entry.encode()) == entry


DIGEST = "0" * 64


@pytest.mark.parametrize(
    "line",
    [
        "",
        "\n",
        f"record t/0/0 1 sha256:{DIGEST}",
        f"record t/0/0 1 sha256:{DIGEST}\n\n",
        f"record t/00/0 1 sha256:{DIGEST}\n",
        f"record t/0/-1 1 sha256:{DIGEST}\n",
        f"record t/0/0  1 sha256:{DIGEST}\n",
        f"record t/0/9223372036854775808 1 sha256:{DIGEST}\n",
        f"record t/0/0 1 sha256:{'A' * 64}\n",
        f"record t/\u0661/0 1 sha256:{DIGEST}\n",
        f"record t\u00e9/0/0 1 sha256:{DIGEST}\n",
        "gap t/0 2 1 5\n",
        "gap t/0 1 9223372036854775808 5\n",
        "note t/0 1 2 5\n",
    ],
)
def test_a_line_of_another_form_is_no_entry(line: str) -> None:
    assert parse_entry(line.encode()) is None


def test_lengths_part_what_is_hashed() -> None:
    """Move bytes between key, value and headers, and null against empty: all digests differ."""
    records: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]] = [
        (b"ab", b"c", []),
        (b"a", b"bc", []),
        (b"", b"abc", []),
        (None, b"abc", []),
        (b"abc", None, []),
        (b"abc", b"", []),
        (b"ab", b"c", [("n", b"")]),
        (b"ab", b"c", [("", b"n")]),
        (b"ab", b"c", [("n", None)]),
    ]
    digests = {record_digest(key, value, headers) for key, value, headers in records}
    assert len(digests) == len(records)
