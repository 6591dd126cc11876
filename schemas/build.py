"""The command that writes the files derived from the sources: `python -m schemas.build [--check]`.

The catalogue gains a version for each record whose sources changed, and is never rewritten; the
JSON Schemas of the protocols' models and the Avro sources made from models are written again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from schemas.catalogue import FIRST_ID
from schemas.protocols import RECORDS, SPECS, UNIONS
from schemas.sources import definitions, self_contained

HERE = Path(__file__).parent


def updated_catalogue(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries, and a new one for each record whose schema differs from its latest
    entry.
    """
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


def derived_files() -> dict[Path, str]:
    """Return the expected text of every derived file, by path."""
    path = HERE / "catalogue.json"
    entries = json.loads(path.read_text("utf-8")) if path.exists() else []
    files = {path: catalogue_text(updated_catalogue(entries))}
    for spec in SPECS:
        files |= {HERE / "json" / name: text for name, text in spec.export().items()}
    return files


def sources() -> dict[Path, str]:
    """Return every Avro source that is made from models, and the text it ought to have."""
    return {HERE / "avro" / name: text for spec in SPECS for name, text in spec.sources().items()}


def _update(files: dict[Path, str], write: bool) -> bool:
    """Name the files whose text differs, and write them.  Return whether there are any."""
    stale = {p: t for p, t in files.items() if not p.exists() or p.read_text("utf-8") != t}
    for path, text in stale.items():
        print(path.relative_to(HERE.parent))
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    return bool(stale)


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    stale = _update(sources(), not check)
    definitions.cache_clear()
    stale |= _update(derived_files(), not check)
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
