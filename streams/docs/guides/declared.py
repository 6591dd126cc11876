"""Sections that repeat declarations: machines, task profiles, settings and topics."""

from __future__ import annotations

from streams.docs.machines import machine_tables, machines, profile_edges, profile_table
from streams.docs.markdown import code, grid
from streams.docs.use import settings_table
from streams.settings import Settings
from streams.settings.service import declarations
from topology import processors
from topology.machines.task_profiles import PROFILES
from topology.protocols import DECLARED


def machine_section(protocol: str, name: str) -> str:
    """Return the diagram and the edges of a state machine."""
    return next(
        machine_tables(module, machine) for module, machine in machines() if machine.name == name
    )


def profiles_section(protocol: str, name: str | None = None) -> str:
    """Return a table of the task profiles, or the edges of one of them."""
    return profile_edges(PROFILES[name]) if name else profile_table(PROFILES.values())


def settings_section(protocol: str) -> str:
    """Return the settings that a protocol declares."""
    module = f"streams.protocols.{protocol}.settings"
    (owner,) = (each for each in Settings.__mro__ if each.__module__ == module)
    inherited = {
        name for base in owner.__mro__[1:] for name in vars(base).get("__annotations__", {})
    }
    return settings_table(
        declared for name, declared in declarations(owner).items() if name not in inherited
    )


def topics_section(protocol: str) -> str:
    """Return the topics that a protocol declares."""
    (declared,) = (each for each in DECLARED if each.name == protocol)
    rows = (
        (
            code(topic.name),
            topic.meaning,
            topic.key,
            code((topic.record or "bytes").rpartition(".")[2]),
            "users" if processors.written_by_clients(topic) else "the service",
        )
        for topic in declared.topics
    )
    return grid(("topic", "holds", "key", "value", "written by"), rows)
