"""The workflows of GitHub Actions, and what their jobs run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.processes import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTIONS = sorted((ROOT / ".github/actions").glob("*/action.yml"))

Job = dict[str, Any]


def load_yaml(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text())
    return loaded


def list_jobs() -> Iterator[tuple[str, Job]]:
    """Give every job of every workflow, named FILE:JOB."""
    for path in WORKFLOWS:
        for name, job in load_yaml(path)["jobs"].items():
            yield f"{path.name}:{name}", job


def list_scripts(job: Job) -> list[str]:
    """Return what the steps of a job run in a shell."""
    return [step["run"] for step in job.get("steps", ()) if "run" in step]
