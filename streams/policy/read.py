"""The reader of policy files: TOML, checked as a whole, all its problems reported by path.

Source: policies, 2.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from importlib.resources import files
from pathlib import Path
from typing import Any

from schemas import Problem
from streams.errors import InvalidInput, SettingsError
from streams.policy.bundle import FORMAT, PolicyFile, file_tables
from streams.policy.label_rules import label_problems
from streams.policy.members import MEMBERS, Form, Member
from streams.policy.secrets import secret_problem
from streams.policy.values import PolicyProblem, nearest, read_value
from streams.settings.composed import Settings

COMPATIBLE = Path(str(files("topology") / "policy" / "compatible.toml"))
"""The policy by which release 0.1.0 decided."""
STRICT = COMPATIBLE.with_name("strict.toml")
"""The policy with every check that a fleet can turn on."""
MAX_BYTES = 262_144
MAX_DOTS = 256
"""The most dots in a line: the time to parse a key grows with the square of its parts."""
HEAD = ("format", "name", "version", "description")
_ADVICE = "`headrace policy check FILE` lists what is wrong."


def load(path: Path) -> PolicyFile:
    """Load a policy file.  Raises SettingsError, which names the file and the first problem."""
    try:
        return read(path)
    except InvalidInput as exc:
        rule, where, message = exc.problems[0]
        raise SettingsError(
            f"HEADRACE_POLICY: {path}: {rule} at {where or 'the top'}: {message}", advice=_ADVICE
        ) from exc


def read(path: Path) -> PolicyFile:
    """Read a policy file.  Raises InvalidInput with all its problems, by path.

    The files that it names are read when a service starts, and by `file_problems`.
    """
    document = _parse(path)
    fields: dict[str, Any] = {}
    problems = [*_head_problems(document)]
    for pointer, dotted, value in _leaves(document):
        member = MEMBERS.get(dotted)
        if secret := secret_problem(dotted, pointer, _searched(dotted, value)):
            problems.append(secret)  # and no other, whose message might have it
            continue
        if _is_section(dotted):
            problems.append(Problem("member_type", pointer, f"{dotted} is a table"))
            continue
        if member is None:
            message = f"{dotted} is no member; the nearest is {nearest(dotted, MEMBERS)}"
            problems.append(Problem("member_unknown", pointer, message))
            continue
        try:
            fields[member.field] = read_value(member, value, path.parent)
        except PolicyProblem as exc:
            problems.append(exc.problem)
    if problems:
        raise InvalidInput(sorted(problems, key=lambda problem: problem.path))
    return PolicyFile(document["name"], document["version"], document.get("description"), fields)


def _searched(dotted: str, value: Any) -> Any:
    """Return what is searched for secrets in a member; examples of masking rules look like some."""
    if dotted != "masking.rule" or not isinstance(value, list):
        return value
    tables = [table for table in value if isinstance(table, dict)]
    return [{n: v for n, v in table.items() if n not in ("masked", "kept")} for table in tables]


def file_problems(policy: PolicyFile) -> list[Problem]:
    """Return what is wrong with the constitution and the issuer table that a policy names.

    A secret in them is such a problem too, though a service starts with it.
    """
    from streams.protocols.commands import bind_files

    problems = []
    for member in _file_members(policy):
        path = policy.fields[member.field]
        only = {member.field: path}
        rule = f"{member.path.removeprefix('sap.').removesuffix('_file')}_invalid"
        try:
            bind_files(Settings.without_environment(only))
        except SettingsError as exc:
            if not _is_file(path):
                rule = "file_unreadable"
            problems.append(Problem(rule, member.pointer, exc.message))
            continue
        if secret := secret_problem("", member.pointer, file_tables(member, path)):
            problems.append(secret)
    return problems


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False


def _file_members(policy: PolicyFile) -> Iterator[Member]:
    for member in MEMBERS.values():
        if member.form is Form.FILE and member.field in policy.fields:
            yield member


def _parse(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as exc:
        raise _refused("file_unreadable", f"{path} cannot be read: {exc.strerror}") from exc
    if len(content) > MAX_BYTES:
        raise _refused("bundle_too_large", f"a policy has at most {MAX_BYTES} bytes")
    if any(line.count(b".") > MAX_DOTS for line in content.split(b"\n")):
        raise _refused("toml_invalid", f"a line has more than {MAX_DOTS} dots")
    try:
        return tomllib.loads(content.decode(), parse_float=_parse_number)
    except (ValueError, RecursionError) as exc:
        raise _refused("toml_invalid", str(exc)) from exc


def _parse_number(text: str) -> Decimal:
    """Return a number; one whose exponent no decimal can have is none."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("NaN")


def _refused(rule: str, message: str) -> InvalidInput:
    return InvalidInput([Problem(rule, "", message)])


def _head_problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    if "format" not in document:
        yield Problem("member_missing", "/format", f"format is {FORMAT}")
    elif type(document["format"]) is not int or document["format"] != FORMAT:
        yield Problem("format_unsupported", "/format", f"format is {FORMAT}")
    yield from label_problems(document)
    labels = (secret_problem(name, f"/{name}", document.get(name)) for name in HEAD)
    yield from filter(None, labels)


def _is_section(dotted: str) -> bool:
    return any(path.startswith(f"{dotted}.") for path in MEMBERS)


def _leaves(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str, Any]]:
    """Yield what is no section of a policy: its JSON Pointer, its dotted path, and its value."""
    for name, value in table.items():
        if not above and name in HEAD:
            continue
        plain = name if "." not in name else f'"{name}"'  # a key in quotes is no path
        dotted = f"{above}.{plain}" if above else plain
        if isinstance(value, dict) and _is_section(dotted):
            yield from _leaves(value, dotted)
        else:
            token = name.replace("~", "~0").replace("/", "~1")
            yield "/".join(["", *filter(None, above.split(".")), token]), dotted, value
