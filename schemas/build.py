"""Writes what is derived from the sources: `python -m schemas.build [--check]`.

The catalogue gains a version for each record whose sources changed, and is never rewritten; the
JSON Schemas of the protocols' models are exported anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from schemas.catalogue import FIRST_ID
from schemas.protocols import RECORDS, SPECS, UNIONS
from schemas.sources import self_contained

HERE = Path(__file__).parent


def updated_catalogue(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries given, and one more for each record whose schema is not the latest given."""
    result = list(entries)
    for record in RECORDS:
        schema = self_contained(record, UNIONS)
        versions = [entry for entry in result if entry["record"] == record]
        if versions and versions[-1]["schema"] == schema:
            continue
        result.append(
            {
                "id": FIRST_ID + len(result),
                "record": record,
                "version": len(versions) + 1,
                "schema": schema,
            }
        )
    return result


def catalogue_text(entries: list[dict[str, Any]]) -> str:
    lines = (json.dumps(entry, separators=(",", ":")) for entry in entries)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def derived() -> dict[Path, str]:
    """Every derived file and the text it ought to have."""
    path = HERE / "catalogue.json"
    entries = json.loads(path.read_text("utf-8")) if path.exists() else []
    files = {path: catalogue_text(updated_catalogue(entries))}
    for spec in SPECS:
        files |= {HERE / "json" / name: text for name, text in spec.export().items()}
    return files


def main(arguments: list[str]) -> int:
    stale = {p: t for p, t in derived().items() if not p.exists() or p.read_text("utf-8") != t}
    for path, text in stale.items():
        print(path.relative_to(HERE.parent))
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
