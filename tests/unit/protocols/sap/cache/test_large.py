"""What is too much for one record: whoever asks is told all the same."""

from __future__ import annotations

import pytest

from tests.unit.protocols.sap.cache.support import Cache, draft, summarize_verdicts, task
from topology.sap import SAP_VERDICTS


@pytest.mark.parametrize("mode", ["prefer", "only"])
def test_an_answer_that_no_verdict_can_hold_is_a_miss(mode: str) -> None:
    cache = Cache()
    cache.store("S", 0)
    lookup = cache.lookup_message("READ", "A", 1000, task=task("A"), mode=mode)
    (verdict,) = cache.verdicts(cache.too_large(lookup, SAP_VERDICTS, 10**8))
    assert summarize_verdicts([verdict]) == [("A", "miss", False)]
    assert (verdict["record"], verdict["version"]) == (None, None)
    assert "100000000 bytes on sap.verdicts" in verdict["reason"]
    assert cache.head["flight"] is None


def test_an_answer_that_is_too_much_to_keep_gives_the_lead_back() -> None:
    cache = Cache()
    cache.read("A", 0)
    cache.read("B", 1000)
    lookup = cache.lookup_message("STORE", "A", 2000, draft=draft("A", 2000, "long"))
    verdicts = cache.verdicts(cache.too_large(lookup, SAP_VERDICTS, 10**8))
    assert summarize_verdicts(verdicts) == [("A", "released", False), ("B", "miss", True)]
    assert "100000000 bytes on sap.verdicts" in verdicts[0]["reason"]
    assert (cache.versions(), cache.waiting()) == ([], [])
