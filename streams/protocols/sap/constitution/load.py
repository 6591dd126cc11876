"""Reads a constitution, strictly: a file that says anything unknown stops the service.

Source: SAP spec, 3.3.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from streams.errors import SettingsError
from streams.protocols.sap.constitution.constitution import Constitution
from streams.protocols.sap.constitution.entries import Table, constraints_of, principle_of

SETTING = "SAP_CONSTITUTION"
_ADVICE = "Correct the file, or unset HEADRACE_SAP_CONSTITUTION."
_HEX = 12
_bound: dict[Path | None, Constitution] = {}


def load(path: Path | str | None) -> Constitution:
    """From an operator's file, which replaces the shipped one as a whole; None: the shipped one.

    Raises SettingsError, which names the file and the entry.
    """
    source = files("topology") / "sap" / "constitution.toml" if path is None else Path(path)
    try:
        data = source.read_bytes()
        return parse(data)
    except OSError as exc:
        raise SettingsError(f"{source} cannot be read: {exc.strerror}", advice=_ADVICE) from exc
    except ValueError as exc:
        raise SettingsError(f"{source}: {exc}", advice=_ADVICE) from exc


def bind(path: Path | str | None) -> Constitution:
    """Load the constitution that this process goes by from now on for that path.

    A service does so at its start.  Raises SettingsError.
    """
    key = None if path is None else Path(path)
    _bound[key] = load(path)
    return _bound[key]


def constitution_of(work: Mapping[str, Any]) -> Constitution:
    """work: settings as processors see them.  The file is read once in a process."""
    path: Path | None = work[SETTING]
    return _bound.get(path) or bind(path)


def parse(data: bytes) -> Constitution:
    """Raises ValueError, which names the entry."""
    top = Table("the file", tomllib.loads(data.decode("utf-8")))
    version = top.text("version", "0")
    defaults = principle_of(top.table("defaults"))
    named = top.table("principles")
    principles = {name: principle_of(named.table(name), defaults) for name in named.names()}
    essence, denylist, escalation = map(top.table, ("essence", "denylist", "escalation"))
    constitution = Constitution(
        label=f"{version}@{hashlib.sha256(data).hexdigest()[:_HEX]}",
        defaults=defaults,
        principles=principles,
        volatile_keys=essence.texts("volatile_keys"),
        denylist=denylist.texts("terms"),
        escalation=escalation.capability("capability", "governance.review"),
        constraints=constraints_of(top.tables("constraint")),
    )
    for table in (essence, denylist, escalation, top):
        table.end()
    return constitution
