"""The strict reader of constitution files: an unknown entry stops the service.

Every reader raises ValueError that names the entry; `Table.end` refuses members that no reader has
taken.

Source: SAP guide, 3.3.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from schemas import sha256_hex
from schemas.json_schema.patterns import NotLinear, WholePattern
from schemas.sap.constants import SEVERITIES
from streams.errors import SettingsError
from streams.protocols.sap.constitution.checks import (
    ESCALATE,
    NON_CONSTITUTIONAL,
    PHASES,
)
from streams.protocols.sap.constitution.constitution import (
    DEFAULT_PHASES,
    Constitution,
    Constraint,
    Principle,
)
from streams.protocols.sap.constitution.evaluators import EVALUATORS
from streams.protocols.sap.constitution.texts import folded

SETTING = "SAP_CONSTITUTION"
_ADVICE = "Correct the file, or unset HEADRACE_SAP_CONSTITUTION."
_HEX = 12
_bound: dict[Path | None, Constitution] = {}


_LINEAR = {
    r"(?:must |always |please )?(?:cite|include|provide|give)"
    r"(?: (?!no\b|not\b)[\w'-]+)* (?:sources?|citations?|references?)": (
        r"(?:must |always |please )?(?:cite|include|provide|give)(?: (?:"
        r"(?:[^\P{L}n]|[\pN_'-])[\pL\pN_'-]*"
        r"|n(?:(?:[^\P{L}o]|[\pN_'-])[\pL\pN_'-]*)?"
        r"|no(?:[^\P{L}t]|[\pN_])[\pL\pN_'-]*"
        r"|not[\pL\pN_][\pL\pN_'-]*"
        r"))* (?:sources?|citations?|references?)"
    )
}
"""A pattern of the shipped constitution and of copies of it, without its look-ahead.

The file keeps its text, since its digest is in every fact that names the constitution.
"""


def load(path: Path | str | None) -> Constitution:
    """Load a constitution from an operator's file, which replaces the default one; None: the
    default.

    Raises SettingsError, which names the file and the entry.
    """
    source = files("topology") / "sap" / "constitution.toml" if path is None else Path(path)
    try:
        data = source.read_bytes()
        return parse(data)
    except OSError as exc:
        raise SettingsError(f"{source} cannot be read: {exc.strerror}", advice=_ADVICE) from exc
    except (ValueError, RecursionError) as exc:
        raise SettingsError(f"{source}: {exc}", advice=_ADVICE) from exc


def bind(path: Path | str | None) -> Constitution:
    """Load the constitution that this process then uses for that path.

    A service does so at its start.  Raises SettingsError.
    """
    key = None if path is None else Path(path)
    _bound[key] = load(path)
    return _bound[key]


def constitution_of(work: Mapping[str, Any]) -> Constitution:
    """Return the constitution of a processor's settings; each file is read once in a process."""
    path: Path | None = work[SETTING]
    return _bound.get(path) or bind(path)


def parse(data: bytes) -> Constitution:
    """Parse a constitution file.  Raises ValueError, which names the entry."""
    top = Table("the file", tomllib.loads(data.decode("utf-8")))
    version = top.text("version", "0")
    defaults = principle_of(top.table("defaults"))
    named = top.table("principles")
    principles = {name: principle_of(named.table(name), defaults) for name in named.names()}
    essence, denylist, escalation = map(top.table, ("essence", "denylist", "escalation"))
    constitution = Constitution(
        label=f"{version}@{sha256_hex(data)[:_HEX]}",
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


_CAPABILITY = re.compile(r"(?=.{1,256}\Z)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_DEFAULT = Principle()
_ON_EXCEED = ("check", "escalate")
_ON_FAIL = (NON_CONSTITUTIONAL, ESCALATE)


class Table:
    """One table of the file.  name: as messages call it."""

    def __init__(self, name: str, data: Any) -> None:
        self.name = name
        if not isinstance(data, dict):
            raise ValueError(f"{name} is not a table")
        self._data: dict[str, Any] = data
        self._read: set[str] = set()

    def wrong(self, member: str, what: str) -> ValueError:
        return ValueError(f"{self.name}: {member} {what}, not {self._data.get(member)!r}")

    def names(self) -> list[str]:
        return list(self._data)

    def take(self, member: str, default: Any = None) -> Any:
        self._read.add(member)
        return self._data.get(member, default)

    def table(self, member: str) -> Table:
        name = f"[{member}]" if self.name == "the file" else f"[{self.name.strip('[]')}.{member}]"
        return Table(name, self.take(member, {}))

    def tables(self, member: str) -> list[Table]:
        value = self.take(member, [])
        if not isinstance(value, list):
            raise self.wrong(member, "is a list of tables")
        return [Table(f"[[{member}]] {n}", entry) for n, entry in enumerate(value, 1)]

    def text(self, member: str, default: str | None = None) -> str:
        value = self.take(member, default)
        if not isinstance(value, str) or not folded(value):
            raise self.wrong(member, "is a text that is not blank")
        return value

    def capability(self, member: str, default: str) -> str:
        value = self.text(member, default)
        if not _CAPABILITY.fullmatch(value):
            raise self.wrong(member, "is a capability")
        return value

    def choice(self, member: str, choices: Sequence[str], default: str) -> str:
        value: str = self.take(member, default)
        if value not in choices:
            raise self.wrong(member, f"is one of {', '.join(choices)}")
        return value

    def flag(self, member: str) -> bool:
        value = self.take(member, False)
        if not isinstance(value, bool):
            raise self.wrong(member, "is true or false")
        return value

    def reading(self, member: str, default: float) -> float:
        value: float = self.take(member, default)
        if type(value) not in (int, float) or not math.isfinite(value) or not 0 <= value <= 100:
            raise self.wrong(member, "is a number from 0 to 100")
        return value

    def texts(self, member: str) -> tuple[str, ...]:
        value = self.take(member, [])
        if not isinstance(value, list) or not all(isinstance(t, str) and folded(t) for t in value):
            raise self.wrong(member, "is a list of texts that are not blank")
        return tuple(value)

    def end(self) -> None:
        """Refuse what has not been read."""
        for member in self._data:
            if member not in self._read:
                known = ", ".join(sorted(self._read))
                raise ValueError(f"{self.name}: {member} is unknown; known are {known}")


def principle_of(table: Table, defaults: Principle = _DEFAULT) -> Principle:
    principle = Principle(
        threshold=table.reading("threshold", defaults.threshold),
        on_exceed=table.choice("on_exceed", _ON_EXCEED, defaults.on_exceed),
        severity=table.choice("severity", SEVERITIES, defaults.severity),
    )
    table.end()
    return principle


def constraints_of(tables: Sequence[Table]) -> tuple[Constraint, ...]:
    constraints: dict[str, Constraint] = {}
    for table in tables:
        id = table.text("id")
        if not _ID.fullmatch(id):
            raise table.wrong("id", "is made of letters, digits, `_`, `.` and `-`")
        table.name += f" ({id})"
        if id in constraints:
            raise ValueError(f"{table.name}: an entry of that id is there already")
        constraints[id] = _constraint(id, table)
    return tuple(constraints.values())


def _constraint(id: str, table: Table) -> Constraint:
    evaluator = table.text("evaluator")
    if evaluator not in EVALUATORS:
        raise table.wrong("evaluator", f"is one of {', '.join(EVALUATORS)}")
    match = _patterns(table)
    entry = Constraint(
        id=id,
        match=match,
        evaluator=evaluator,
        hard=table.flag("hard"),
        severity=table.choice("severity", SEVERITIES, "high"),
        on_fail=table.choice("on_fail", _ON_FAIL, NON_CONSTITUTIONAL),
        phases=_phases(table),
        learnable=table.flag("learnable"),
        params=_params(table, evaluator, match),
    )
    table.end()
    return entry


def _patterns(table: Table) -> tuple[WholePattern, ...]:
    texts = table.texts("match")
    if not texts:
        raise table.wrong("match", "is a list of at least one regular expression")
    try:
        return tuple(map(_pattern, texts))
    except ValueError as exc:
        raise ValueError(f"{table.name}: match: {exc}") from exc


def _pattern(text: str) -> WholePattern:
    try:
        return WholePattern(_LINEAR.get(text, text))
    except NotLinear as exc:
        raise ValueError(f"{text!r} is no regular expression of RE2: {exc}") from exc


def _phases(table: Table) -> tuple[str, ...]:
    value: Any = table.take("phases", list(DEFAULT_PHASES))
    if not isinstance(value, list) or not value or not all(phase in PHASES for phase in value):
        raise table.wrong("phases", f"is a list of some of {', '.join(PHASES)}")
    return tuple(value)


def _params(table: Table, name: str, match: Sequence[WholePattern]) -> dict[str, Any]:
    """Return the parameters in the file; named groups of `match` are read when a text matches."""
    evaluator = EVALUATORS[name]
    values = Table(f"{table.name}: params", table.take("params", {}))
    groups = {group for pattern in match for group in pattern.names}
    for member in (*values.names(), *sorted(groups)):
        if evaluator.reader(member) is None:
            known = ", ".join(evaluator.params) or "none"
            message = f"{member} is no parameter of {name}; known are: {known}"
            raise ValueError(f"{values.name}: {message}")
    params = {}
    for member in values.names():
        read = evaluator.reader(member)
        try:
            params[member] = read(values.take(member)) if read else None
        except ValueError as exc:
            raise ValueError(f"{values.name}: {member} {exc}") from exc
    if evaluator.lacks(params.keys() | groups):
        needed = " or ".join(sorted(evaluator.needs))
        raise ValueError(f"{values.name}: {name} needs {needed}")
    return params
