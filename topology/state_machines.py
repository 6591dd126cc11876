"""All state machines, each with its module and its protocol."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import topology.machines
from topology.machine import Machine
from topology.protocols import DECLARED


class DeclaredMachine(NamedTuple):
    """A machine of `topology.machines`.  protocol: the name of the protocol that declares it."""

    module: ModuleType
    machine: Machine[Any]
    protocol: str

    @property
    def title(self) -> str:
        """Return the first sentence of its essay."""
        return self.doc.partition("\n\n")[0].replace("\n", " ")

    @property
    def doc(self) -> str:
        """Return its essay."""
        return inspect.getdoc(self.module) or ""


@cache
def all_machines() -> tuple[DeclaredMachine, ...]:
    """Return every machine, by the name of its module."""
    names = [info.name for info in pkgutil.iter_modules(topology.machines.__path__)]
    modules = [(name, importlib.import_module(f"topology.machines.{name}")) for name in names]
    return tuple(
        DeclaredMachine(module, module.MACHINE, _protocol_of(name))
        for name, module in modules
        if hasattr(module, "MACHINE")
    )


def _protocol_of(name: str) -> str:
    """Return the protocol that has topics of the word that a module's name begins with."""
    word = name.partition("_")[0]
    return next(
        each.name
        for each in DECLARED
        if any(topic.name.startswith(f"{word}.") for topic in each.topics)
    )
