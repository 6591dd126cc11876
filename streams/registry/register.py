"""Registration of missing schemas at a registry, for `headrace topics create`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from schemas import SchemaEntry, committed_id
from streams.registry.client import RegisteredVersion, Registry
from streams.registry.subjects import Subject, subjects

Report = Callable[[str], object]


def register(registry: Registry, prefix: str, on_registered: Report) -> None:
    """Register every missing version of every subject, the earlier ones first.

    on_registered: called with a message about each.  Raises RegistryUnavailable, SchemasMismatch.
    """
    for subject in subjects(prefix).values():
        _register(registry, subject, on_registered)


def missing(subject: Subject, registered: Sequence[RegisteredVersion]) -> list[SchemaEntry]:
    """Return the versions that the registry lacks, the earlier ones first."""
    known_ids = {committed_id(version.schema) for version in registered}
    return [entry for entry in subject.entries if entry.id not in known_ids]


def _register(registry: Registry, subject: Subject, on_registered: Report) -> None:
    registered = registry.versions(subject.name)
    for entry in missing(subject, registered):
        id = registry.register(subject.name, entry)
        on_registered(f"{subject.name} version {entry.version} has schema id {id}")
    if not registered:
        registry.keep_compatible(subject.name)
