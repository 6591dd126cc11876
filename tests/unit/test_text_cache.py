"""Caches of texts are bounded in bytes: what a sender chooses is not kept if it is long."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from schemas.canonical import uuid5_url
from streams.masking.keys import _classify
from streams.protocols.apc.queries.lineage.tally import _prefixes
from streams.protocols.saop.queries.rows import prefix
from streams.views.keys import key
from topology.keys import partition_of

LONG = 1 << 18


@pytest.mark.parametrize(
    "call",
    [
        uuid5_url,
        _classify,
        key,
        lambda text: prefix("event", text),
        lambda text: partition_of(text.encode(), 4),
        lambda text: _prefixes((text, "b")),
    ],
)
def test_a_long_text_is_not_kept(call: Callable[[str], object]) -> None:
    call("x" * LONG)
    gc.collect()
    tracemalloc.start()
    for number in range(8):
        call(f"{number}" + "x" * LONG)
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < LONG / 2
