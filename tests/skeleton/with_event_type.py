"""Add to this project a sixth type of RTES events: a record, and a row in each of two lists."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.processes import ROOT, environ_of
from tests.skeleton.with_ping import PACKAGES, Entry, with_entry

NAME = "SANDBOX_ERROR"
MODELS = "schemas/rtes/models.py"
RECORD = "schemas/avro/rtes/SandboxError.avsc"
MODEL = """class SandboxError(EventPayload):
    type: Literal["SANDBOX_ERROR"]
    line: Text
    masked: Flag
    timestamp: Timestamp


EVENT_TYPES = ("""
TYPE = Entry(
    MODELS,
    "",
    "EVENT_TYPES",
    'event_type(SandboxError, Member("line", is_text), Member("masked", is_flag), _TIME)',
)
HANDLER = Entry(
    "streams/protocols/saop/rtes/event_handlers.py",
    "from schemas.rtes.models import SandboxError",
    "HANDLERS",
    """EventHandler(
        model=SandboxError, masking=OutputLine("line", flag="masked"), decide=record_output
    )""",
)
AVRO = {
    "type": "record",
    "name": "SandboxError",
    "namespace": "headrace.rtes",
    "doc": "SANDBOX_ERROR: a line of a sandbox's errors.",
    "fields": [
        {"name": "line", "type": "string"},
        {"name": "masked", "type": "boolean"},
        {"name": "timestamp", "type": "string"},
    ],
}


class WithEventType:
    """The packages in a directory, with those parts of the type that a test adds."""

    def __init__(self, home: Path) -> None:
        self.home = home
        for package in PACKAGES:
            skipped = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, home / package, ignore=skipped)

    def add_record(self) -> None:
        (self.home / RECORD).write_text(json.dumps(AVRO), encoding="utf-8")

    def add_type(self) -> None:
        path = self.home / MODELS
        text = path.read_text(encoding="utf-8")
        assert text.count("EVENT_TYPES = (") == 1
        path.write_text(text.replace("EVENT_TYPES = (", MODEL), encoding="utf-8")
        self._add(TYPE)

    def add_handler(self) -> None:
        self._add(HANDLER)

    def _add(self, entry: Entry) -> None:
        path = self.home / entry.path
        path.write_text(with_entry(path.read_text(encoding="utf-8"), entry), encoding="utf-8")

    def run(self, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a module to its end."""
        return subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=self.home,
            env=environ_of({}),
            capture_output=True,
            text=True,
            timeout=120,
        )
