"""A copy of a table that may take so many bytes, on both logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from streams.engine.global_tables import GlobalTables
from streams.engine.records import Output
from tests.contract.test_copies import KEPT
from tests.contract.twins import Twin, until
from tests.toy import FACTS, toy_record

LIMITED = replace(KEPT, copied_parts=1, limited_by="LIMIT")


def test_a_limited_copy_keeps_its_limit_when_it_is_opened_again(twin: Twin, tmp_path: Path) -> None:
    def opened(limit: int) -> GlobalTables:
        made = GlobalTables(
            tmp_path, twin.log, twin.prefix, twin.partitions, [LIMITED], {"LIMIT": limit}
        )
        made.open()
        return made

    def names(copies: GlobalTables) -> list[str]:
        return [name for name in ("a", "b", "c", "d") if copies.get(LIMITED, name) is not None]

    def fact(ident: str) -> Output:
        return toy_record(ident, topic=FACTS, prefix=twin.prefix, n="kept")

    twin.log.append([fact("a")])
    first = opened(1 << 20)
    (size,) = (one.size_bytes for one in first.limit_status())
    assert names(first) == ["a"]
    first.close()
    limit = 2 * size + 20  # the row of a position with another digit is longer
    limited = opened(limit)
    for ident in ("b", "c"):
        twin.log.append([fact(ident)])
    limited.follow()
    until(lambda: limited.get(LIMITED, "c") is not None)
    assert names(limited) == ["b", "c"]
    (status,) = limited.limit_status()
    assert status.evicted == 1
    assert size < status.size_bytes <= limit
    limited.close()
    twin.log.append([fact("d")])
    again = opened(limit)
    assert len(names(again)) == 2
    assert "d" in names(again)
    again.close()
