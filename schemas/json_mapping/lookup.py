"""The lookup of a record's mapping."""

from __future__ import annotations

from functools import cache

from schemas.json_mapping.mapping import JsonMapping

PLAIN = JsonMapping()
"""The mapping of records that belong to no protocol."""


@cache
def mapping_of(record: str) -> JsonMapping:
    """Return the mapping declared for the namespace of a record's full name, else PLAIN."""
    namespace = record.rpartition(".")[0]
    return next((each for each in _mappings() if namespace in each.namespaces), PLAIN)


@cache
def _mappings() -> tuple[JsonMapping, ...]:
    # Protocols validate with the conversions, so these load the protocols only when they are used.
    from schemas.protocols import SPECS

    return tuple(spec.mapping for spec in SPECS)
