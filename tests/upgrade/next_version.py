"""The next version, made of this one: its packages in a directory, changed there, and run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.processes import ROOT

PACKAGES = ("schemas", "topology", "streams")
FIELD = "release"
RELEASE = "next"
RECORDS = ("apc/ApcEvent", "apc/ApcPacketState", "rtes/RtesEvent")
"""A fact, a row and a record between processors that have a field more."""

_ADDED = Path(__file__).parent / "added"
_HOMES = {"declared": "topology/added.py", "processor": "streams/protocols/added.py"}
_APPENDED = {
    "topology/protocols.py": """
from topology import added

DECLARED += (added.DECLARED,)
""",
    "streams/protocols/commands.py": """
from streams.protocols.added import NotesProcessor

_before = all_processors


def all_processors() -> list[Processor]:
    return [*_before(), NotesProcessor()]
""",
}


class Version:
    """The packages in a directory.  Its commands run with them instead of this checkout's."""

    def __init__(self, home: Path) -> None:
        self.home = home
        for package in PACKAGES:
            shutil.copytree(
                ROOT / package, home / package, ignore=shutil.ignore_patterns("__pycache__")
            )

    @property
    def before(self) -> Sequence[str]:
        """What a command is run by, for `tests.processes.Process`."""
        return ("env", f"--chdir={self.home}")

    def add_topic_and_table(self) -> None:
        """A command topic, its facts, a public table, an internal one, and their processor."""
        for name, place in _HOMES.items():
            text = (_ADDED / f"{name}.py").read_text(encoding="utf-8")
            text = text.replace("tests.upgrade.added.declared", "topology.added")
            (self.home / place).write_text(text, encoding="utf-8")
        for place, text in _APPENDED.items():
            self._append(place, text)

    def add_schema_versions(self) -> None:
        """A field with a default in each of RECORDS; the catalogue gains their versions."""
        for name in RECORDS:
            path = self.home / f"schemas/avro/{name}.avsc"
            schema = json.loads(path.read_text(encoding="utf-8"))
            schema["fields"].append({"name": FIELD, "type": ["null", "string"], "default": None})
            path.write_text(json.dumps(schema), encoding="utf-8")
        self._append(
            "streams/protocols/apc/processor/facts.py", f'\n_DEFAULTS["{FIELD}"] = "{RELEASE}"\n'
        )
        subprocess.run(
            [sys.executable, "-m", "schemas.build"], cwd=self.home, check=True, timeout=120
        )

    def load(self) -> None:
        """Import what a worker does; fails when what was added does not fit this version."""
        subprocess.run(
            [sys.executable, "-c", "import streams.protocols.commands"],
            cwd=self.home,
            check=True,
            timeout=60,
        )

    def _append(self, place: str, text: str) -> None:
        with (self.home / place).open("a", encoding="utf-8") as file:
            file.write(text)
