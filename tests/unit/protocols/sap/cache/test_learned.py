"""What was learned holds under the constitution that it was learned under (SAP guide, 5.5)."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from streams.protocols.sap.constitution import bind, constitution_of
from tests.unit.protocols.sap.cache.support import POLICY, Cache, summarize_verdicts

CHECKED = {**POLICY, "extraChecks": ["no_pii"]}
STRICT = {**POLICY, "thresholds": {"calm": 5.0}}
PRESSED = {"pressureLevel": "deliberated", "pressure": {"calm": 10}}
"""A reading that exceeds what was learned, and not the constitution's threshold."""


@pytest.mark.parametrize(("policy", "context"), [(CHECKED, {}), (STRICT, PRESSED)])
def test_a_cached_answer_is_checked_by_it_under_that_one_only(
    policy: dict[str, Any], context: dict[str, Any]
) -> None:
    cache = Cache()
    current_label = constitution_of(cache.settings).label
    cache.store("S", 0, output="ana@example.org")
    for label, expected in (
        (current_label, "misaligned"),
        (None, "misaligned"),
        ("1@another", "hit"),
    ):
        (verdict,) = cache.read(
            *("A", 1000), mode="only", mustAlign=True, policy=policy, reason=label, context=context
        )
        assert verdict["verdict"] == expected, label


def test_a_task_that_waits_is_served_under_the_constitution_of_then(tmp_path: Path) -> None:
    """The service comes back with another file while a task waits."""
    cache = Cache()
    label = constitution_of(cache.settings).label
    cache.read("A", 0)
    cache.read("B", 1000, mustAlign=True, policy=CHECKED, reason=label)
    assert cache.waiting()
    path = tmp_path / "constitution.toml"
    shipped = files("topology").joinpath("sap/constitution.toml").read_text("utf-8")
    path.write_text(f"{shipped}# another edition\n")
    assert bind(path).label != label
    cache.settings["SAP_CONSTITUTION"] = path
    verdicts = cache.store("A", 2000, output="ana@example.org")
    assert summarize_verdicts(verdicts) == [("A", "stored", False), ("B", "hit", False)]
