"""Writes what is derived from the sources: `python -m schemas.build [--check]`.

The catalogue gains a version for each record whose sources changed, and is never rewritten; the
JSON Schemas of the protocols' models are exported anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from schemas import sources
from schemas.apc import Packet
from schemas.asap import export as asap
from schemas.catalogue import FIRST_ID
from schemas.model import JsonSchema
from schemas.rtes import Event, Payload
from schemas.saop import Rewind, Turn
from schemas.sap.json_schema import json_schema
from schemas.sap.shapes import ENVELOPES
from schemas.summit import json_schema as summit

HERE = Path(__file__).parent
MODELS: dict[str, TypeAdapter[Any]] = {
    "apc/packet": TypeAdapter(Packet),
    "saop/turn": TypeAdapter(Turn),
    "saop/rewind": TypeAdapter(Rewind),
    "rtes/event": TypeAdapter(Event),
    "rtes/payload": TypeAdapter(Payload),
}
"""The exported JSON Schemas by file name."""


def updated_catalogue(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries given, and one more for each record whose schema is not the latest given."""
    result = list(entries)
    for record in sources.RECORDS:
        schema = sources.self_contained(record)
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


def json_schema_text(adapter: TypeAdapter[Any]) -> str:
    schema = adapter.json_schema(schema_generator=JsonSchema)
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**dialect, **schema}, indent=2) + "\n"


def derived() -> dict[Path, str]:
    """Every derived file and the text it ought to have."""
    path = HERE / "catalogue.json"
    entries = json.loads(path.read_text("utf-8")) if path.exists() else []
    files = {path: catalogue_text(updated_catalogue(entries))}
    for name, adapter in MODELS.items():
        files[HERE / "json" / f"{name}.json"] = json_schema_text(adapter)
    for name, shape in ENVELOPES.items():
        text = json.dumps(json_schema(shape), indent=2) + "\n"
        files[HERE / "json" / f"sap/{name}.json"] = text
    for name, schema in summit.SCHEMAS.items():
        files[HERE / "json" / f"summit/{name}.json"] = json.dumps(schema, indent=2) + "\n"
    folder = HERE / "json" / "asap"
    for name, path in [*asap.list_schema_entries(folder), ("part", folder / asap.PART_FILE)]:
        files[path] = asap.schema_text(asap.get_schema_json(name))
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
