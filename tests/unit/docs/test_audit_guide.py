"""The code of the audit's guide computes what entries have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from streams.ops.tlog.entries import record_digest
from tests.unit.ops.tlog.example_log import FIRST, HEADERS

GUIDE = Path(__file__).parents[3] / "docs" / "audit.md"


class Message(NamedTuple):
    """A record as confluent-kafka has it."""

    contents: tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]] | None]

    def key(self) -> bytes | None:
        return self.contents[0]

    def value(self) -> bytes | None:
        return self.contents[1]

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.contents[2]


def test_the_digest_of_a_record_without_headrace() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    headers: list[tuple[str, bytes | None]] = list(HEADERS)
    assert names["digest"](Message((b"sess-1", b"\0\1\2", headers))) == FIRST.sha256
    assert names["digest"](Message((None, b"", [("é", None)]))) == record_digest(
        None, b"", [("é", None)]
    )
    assert names["digest"](Message((b"", None, None))) == record_digest(b"", None, [])
