"""What users see is what it was: scenarios, answers, schemas, topics, help, pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.unchanged import MANIFESTS
from tests.data.unchanged.manifest import compare, digest, path_of, read, save

MOST = 60
"""Differences that are named."""


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_what_users_see_is_unchanged(manifest: str, tmp_path: Path) -> None:
    texts = MANIFESTS[manifest]()
    differences = list(compare(read(manifest), texts))
    if differences:
        save({each.name: texts[each.name] for each in differences if each.name in texts}, tmp_path)
    assert not differences, "\n".join(
        [
            f"{path_of(manifest).name} does not hold for {len(differences)} texts:",
            *map(str, differences[:MOST]),
            f"They are in {tmp_path} as they are now.  To see the difference:",
            f"  python -m tests.data.unchanged {manifest} --since COMMIT",
            "If it is meant:",
            f"  python -m tests.data.unchanged {manifest} --write",
        ]
    )


def test_texts_that_are_changed_new_or_missing_are_named() -> None:
    digests = {name: digest(name) for name in ("log/a", "log/b", "log/c")}
    texts = {"log/a": "log/a", "log/b": "another", "log/d": "log/d"}
    differences = [f"{kind} {name}" for kind, name in compare(digests, texts)]
    assert differences == ["changed log/b", "missing log/c", "new log/d"]


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_a_manifest_has_one_line_for_each_text_in_order(manifest: str) -> None:
    lines = path_of(manifest).read_text(encoding="utf-8").splitlines()
    names = [line.split("  ", 1)[1] for line in lines]
    assert names == sorted(set(names))
