"""`headrace topics create` with a registry: what is missing there is registered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from schemas import SchemaEntry, committed_id
from streams.registry.client import Registered, Registry
from streams.registry.subjects import Subject, subjects

Told = Callable[[str], object]


def register(registry: Registry, prefix: str, told: Told) -> None:
    """Every version of every subject, the earlier ones first; told of each one registered.

    Raises RegistryUnavailable, SchemasMismatch.
    """
    for subject in subjects(prefix).values():
        _register(registry, subject, told)


def missing(subject: Subject, found: Sequence[Registered]) -> list[SchemaEntry]:
    """Versions that are not among those that a registry has, the earlier ones first."""
    there = {committed_id(version.schema) for version in found}
    return [entry for entry in subject.entries if entry.id not in there]


def _register(registry: Registry, subject: Subject, told: Told) -> None:
    found = registry.versions(subject.name)
    for entry in missing(subject, found):
        id = registry.register(subject.name, entry)
        told(f"{subject.name} version {entry.version} has schema id {id}")
    if not found:
        registry.keep_compatible(subject.name)
