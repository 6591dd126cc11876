"""This project with a sixth protocol: one folder in each layer, and an entry in each list."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.processes import ROOT, environ_of, named

PACKAGES = ("schemas", "topology", "streams")
FILES = Path(__file__).parent / "files"


class Entry(NamedTuple):
    """A line in a list: its file, what the file imports for it, the list, and the line."""

    path: str
    imports: str
    name: str
    line: str


ENTRIES = (
    Entry("schemas/protocols.py", "from schemas.ping.spec import SPEC as PING", "SPECS", "PING"),
    Entry("topology/protocols.py", "from topology import ping", "DECLARED", "ping.DECLARED"),
    Entry(
        "streams/protocols/commands.py",
        "from streams.protocols.ping.command_side import PING",
        "COMMANDS",
        "PING",
    ),
    Entry(
        "streams/protocols/queries.py",
        "from streams.protocols.ping.query_side import PING",
        "QUERIES",
        "PING",
    ),
)
"""The four lists of protocols."""
COMMAND = Entry(
    "streams/cli/commands.py",
    "",
    "BY_PROTOCOL",
    """ProtocolCommands(
        "ping",
        {
            "ping": CommandGroup(
                "Query pings.", "ping show p1", {"show": CommandEntry("ping.show", "Show a ping.")}
            )
        },
        topics=("ping.pings",),
        kinds=("ping.ping",),
    )""",
)
"""The list of commands, which `--help` reads without loading any protocol."""


class WithPing:
    """The packages in a directory, with the protocol added.  Commands run with them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        skipped = shutil.ignore_patterns("__pycache__")
        for package in PACKAGES:
            shutil.copytree(ROOT / package, home / package, ignore=skipped)
        shutil.copytree(FILES, home, dirs_exist_ok=True, ignore=skipped)
        for entry in (*ENTRIES, COMMAND):
            path = home / entry.path
            path.write_text(with_entry(path.read_text(encoding="utf-8"), entry), encoding="utf-8")
        self.run("schemas.build")

    @property
    def before(self) -> Sequence[str]:
        """What a command is run by, for `tests.processes.Process`."""
        return ("env", f"--chdir={self.home}")

    def run(
        self, module: str, *arguments: str, settings: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a module to its end.  settings: named without HEADRACE_."""
        return subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=self.home,
            env=environ_of(named(settings or {})),
            capture_output=True,
            text=True,
            timeout=120,
        )


def with_entry(text: str, entry: Entry) -> str:
    """The text of a module with the entry at the end of its list."""
    listed = re.compile(rf"(?ms)^({entry.name}\b[^=\n]*= [({{].*?)(,?)\n?([)}}])$")
    changed, count = listed.subn(rf"\1,\n    {entry.line},\n\3", text, count=1)
    assert count == 1, f"{entry.path} has no list {entry.name}"
    if not entry.imports:
        return changed
    return re.sub(r"(?m)^from (?!__future__)", f"{entry.imports}\nfrom ", changed, count=1)
