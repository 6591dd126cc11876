"""Policy files for tests."""

from __future__ import annotations

from pathlib import Path

HEAD = 'format = 1\nname = "fleet"\nversion = "2026-11-24"\n'


def policy_file(folder: Path, text: str = "", head: str = HEAD) -> Path:
    """Write a policy file, and return its path."""
    path = folder / "policy.toml"
    path.write_text(head + text, encoding="utf-8")
    return path
