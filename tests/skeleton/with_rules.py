"""Add invented rules to this project: each is one row of its protocol's table and one check."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.processes import ROOT, environ_of
from tests.skeleton.with_ping import PACKAGES

RESERVED = "the name is reserved"
SUSPENDED = "the name is suspended"


class Edit(NamedTuple):
    """Lines that are added behind the only place of a file that has these lines, or before it."""

    path: str
    lines: str
    added: str
    before: bool = False

    def apply(self, home: Path) -> None:
        path = home / self.path
        text = path.read_text("utf-8")
        assert text.count(self.lines) == 1, f"{self.path} has {self.lines!r} not once"
        both = (self.added, self.lines) if self.before else (self.lines, self.added)
        path.write_text(text.replace(self.lines, "".join(both)), "utf-8")


class InventedRule(NamedTuple):
    """A rule of one kind of command: the row of its table and its check are all that is edited."""

    kind: str
    code: str
    row: Edit
    check: Edit


def table_row(protocol: str, row: str, anchor: str = "ALL = rules_of(") -> Edit:
    """Make the edit that adds a row at the end of a table."""
    return Edit(f"schemas/{protocol}/rules.py", anchor, f"{row}\n", before=True)


_SHAPE_ROW = f'NAME_RESERVED = Rule("name_reserved", "{RESERVED}", Stage.SCHEMA, Where.BOTH)\n'
_POLICY_ROW = (
    f'NAME_SUSPENDED = Rule("name_suspended", "{SUSPENDED}", Stage.POLICY, Where.PROCESSOR)\n'
)
_REFUSING = "REFUSING = "

SHAPE_RULES = (
    InventedRule(
        "apc.packet",
        "name_reserved",
        table_row("apc", _SHAPE_ROW),
        Edit(
            "schemas/apc/relations.py",
            '    keys = packet.get("symbolic_keys")\n',
            f"""\
    if packet["trace"]["session_id"] == "nobody":
        yield Problem("name_reserved", "/trace/session_id", "{RESERVED}")
""",
        ),
    ),
    InventedRule(
        "rtes.event",
        "name_reserved",
        table_row("rtes", _SHAPE_ROW),
        Edit(
            "schemas/rtes/validate.py",
            "    yield from problems_of(event, _EVENT_MEMBERS, ())\n",
            f"""\
    if event["session_id"] == "nobody":
        yield Problem("name_reserved", "/session_id", "{RESERVED}")
""",
        ),
    ),
    InventedRule(
        "saop.turn",
        "name_reserved",
        table_row("saop", _SHAPE_ROW),
        Edit(
            "schemas/saop/validate.py",
            "    yield from problems_of(turn, _HEAD, ())\n",
            f"""\
    if turn["metadata"]["task_id"] == "nobody":
        yield Problem("name_reserved", "/metadata/task_id", "{RESERVED}")
""",
        ),
    ),
    InventedRule(
        "sap.task",
        "name_reserved",
        table_row("sap", f'NAME_RESERVED = _shape(12, "name_reserved", "{RESERVED}")\n'),
        Edit(
            "schemas/sap/validate.py",
            "def _task(task: dict[str, Any]) -> Iterator[Problem]:\n",
            f"""\
    if task["issuer"]["agentId"] == "nobody":
        yield Problem("name_reserved", "/issuer/agentId", "{RESERVED}")
""",
        ),
    ),
    InventedRule(
        "asap.envelope",
        "name_reserved",
        table_row(
            "asap",
            f'NAME_RESERVED = _shape("name_reserved", _DENIED, "{RESERVED}")\n',
            _REFUSING,
        ),
        Edit(
            "schemas/asap/validate.py",
            "def _check_ids(envelope: JsonObject) -> Iterator[Problem]:\n",
            f"""\
    if envelope["sender"].endswith(":nobody"):
        yield Problem("name_reserved", "/sender", "{RESERVED}")
""",
        ),
    ),
    InventedRule(
        "summit.call",
        "name.reserved",
        table_row(
            "summit",
            f'NAME_RESERVED = _shape("name.reserved", INVALID_PARAMS, "{RESERVED}")\n',
            _REFUSING,
        ),
        Edit(
            "schemas/summit/calls.py",
            '    method = call.get("method")\n',
            f"""\
    if call.get("caller") == "nobody":
        check.add_problem(rules.NAME_RESERVED, ("caller",), "is no name to use: {RESERVED}")
""",
        ),
    ),
    InventedRule(
        "summit.reply",
        "reply.reserved",
        table_row(
            "summit", f'REPLY_RESERVED = _shape("reply.reserved", None, "{RESERVED}")\n', _REFUSING
        ),
        Edit(
            "schemas/summit/replies.py",
            "def _check_shape(check: Checker, reply: JsonObject) -> None:\n",
            f"""\
    if reply["runId"] == "nobody":
        check.add_problem(rules.REPLY_RESERVED, ("runId",), "is no name to use: {RESERVED}")
""",
        ),
    ),
)
"""Rules of shape, which ingress and the processor apply."""

POLICY_RULES = (
    InventedRule(
        "apc.packet",
        "name_suspended",
        table_row("apc", _POLICY_ROW),
        Edit(
            "streams/protocols/apc/processor/policy.py",
            "def refusal(packet: Inbound, context: BatchContext) -> Refusal | None:\n",
            f"""\
    if packet.session_id == "suspended":
        return Refusal(rules.NAME_SUSPENDED.code, "{SUSPENDED}")
""",
        ),
    ),
    InventedRule(
        "rtes.event",
        "name_suspended",
        table_row("rtes", _POLICY_ROW),
        Edit(
            "streams/protocols/saop/rtes/processor.py",
            "    record, session_id = event.message.record, event.session_id\n",
            """\
    if session_id == "suspended":
        return Refusal(rules.NAME_SUSPENDED, path="/session_id")
""",
        ),
    ),
    InventedRule(
        "saop.turn",
        "name_suspended",
        table_row("saop", _POLICY_ROW),
        Edit(
            "streams/protocols/saop/processor/processor.py",
            '    record, path = turn.message.record, "/metadata/task_id"\n',
            """\
    if turn.task_id == "suspended":
        return Verdict(rules.NAME_SUSPENDED, path=path)
""",
        ),
    ),
    InventedRule(
        "sap.task",
        "name_suspended",
        table_row(
            "sap",
            f'NAME_SUSPENDED = _policy("name_suspended", "{SUSPENDED}", ("FORBIDDEN", 410))\n',
        ),
        Edit(
            "streams/protocols/sap/processor/tasks.py",
            "    yield Check(rules.RATE_LIMITED.code, _too_fast(task, facts))\n",
            f"""\
    if task["issuer"]["agentId"] == "suspended":
        code = rules.NAME_SUSPENDED.code
        yield Check(code, Verdict(code, "{SUSPENDED}", "/issuer/agentId"))
""",
        ),
    ),
    InventedRule(
        "asap.envelope",
        "name_suspended",
        table_row(
            "asap",
            f'NAME_SUSPENDED = _policy("name_suspended", _DENIED, "{SUSPENDED}")\n',
            _REFUSING,
        ),
        Edit(
            "streams/protocols/asap/processor/admission.py",
            "    refusal = manifests.recipient_refusal(command, ctx)"
            " or manifests.skill_refusal(command, ctx)\n",
            f"""\
    if command.sender.endswith(":suspended"):
        return verdicts.refuse("name_suspended", "{SUSPENDED}")
""",
        ),
    ),
    InventedRule(
        "summit.call",
        "name.suspended",
        table_row(
            "summit",
            f'NAME_SUSPENDED = _policy("name.suspended", DENIED, "{SUSPENDED}")\n',
            _REFUSING,
        ),
        Edit(
            "streams/protocols/summit/processor/calls.py",
            "    known = find_run(call.run_id, ctx)\n",
            """\
    if call.caller == "suspended":
        return refuse(rules.NAME_SUSPENDED.code, "/caller")
""",
        ),
    ),
)
"""Rules that a processor alone applies, one of each table."""


class WithRules:
    """The packages in a directory, with rules added.  Commands run with them."""

    def __init__(self, home: Path, *rules: InventedRule) -> None:
        self.home = home
        skipped = shutil.ignore_patterns("__pycache__")
        for package in PACKAGES:
            shutil.copytree(ROOT / package, home / package, ignore=skipped)
        for rule in rules:
            rule.row.apply(home)
            rule.check.apply(home)

    def changed_files(self) -> set[str]:
        """Return the paths of the files that differ from this project's."""
        paths = {path.relative_to(self.home) for path in self.home.rglob("*") if path.is_file()}
        return {
            str(path)
            for path in paths
            if path.suffix != ".pyc" and (ROOT / path).exists()
            if (self.home / path).read_bytes() != (ROOT / path).read_bytes()
        }

    def run(self, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a module, of this version or of the tests, to its end."""
        return subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=self.home,
            env=environ_of({"PYTHONPATH": str(ROOT)}),
            capture_output=True,
            text=True,
            timeout=120,
        )
