"""Workflows, hooks of Git and templates, as far as they can be judged without GitHub."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.processes import ROOT
from tests.workflows import ACTIONS, WORKFLOWS, Job, list_jobs, list_scripts, load_yaml

BIN = Path(sys.executable).parent
MAKEFILE = (ROOT / "Makefile").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
HOOKS: list[dict[str, Any]] = [
    hook
    for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    for hook in repo["hooks"]
]
TEMPLATES = (
    ROOT / ".github/pull_request_template.md",
    *sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.md")),
)
TEMPLATE_LINES = 15
SCHEMA, TIMEOUTS, ACTION_SCHEMA = (
    "vendor.github-workflows",
    "custom.github-workflows-require-timeout",
    "vendor.github-actions",
)
_MAKE = re.compile(r"\bmake +([\w-]+)")
_HOST = re.compile(r"://|\b[\w-]+\.(?:com|dev|io|net|org)\b")

by_name = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def validate(schema: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [BIN / "check-jsonschema", "--builtin-schema", schema, *paths]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def spoil(path: Path, line: str, replacement: str, folder: Path) -> Path:
    """Write a copy of a workflow in which one line, which it must hold, is another."""
    text = path.read_text()
    assert line in text
    copy = folder / path.name
    copy.write_text(text.replace(line, replacement))
    return copy


@pytest.mark.parametrize(
    ("schema", "paths"), [(SCHEMA, WORKFLOWS), (TIMEOUTS, WORKFLOWS), (ACTION_SCHEMA, ACTIONS)]
)
def test_workflows_and_actions_are_as_the_schemas_say(schema: str, paths: list[Path]) -> None:
    assert paths
    ran = validate(schema, *paths)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("schema", "line", "replacement", "message"),
    [
        (SCHEMA, "    timeout-minutes:", "    time-limit:", "'time-limit' was unexpected"),
        (SCHEMA, "  contents: read", "  contents: readable", "'readable' is not one of"),
        (TIMEOUTS, "    timeout-minutes: 150\n", "", "'timeout-minutes' is a required property"),
    ],
)
def test_the_schemas_refuse_a_spoiled_workflow(
    schema: str, line: str, replacement: str, message: str, tmp_path: Path
) -> None:
    nightly = ROOT / ".github/workflows/nightly.yml"
    ran = validate(schema, spoil(nightly, line, replacement, tmp_path))
    assert ran.returncode == 1
    assert message in ran.stdout


def test_every_target_that_a_workflow_makes_is_in_the_makefile() -> None:
    targets = {
        target
        for _, job in list_jobs()
        for script in list_scripts(job)
        for target in _MAKE.findall(script)
    }
    assert targets >= {"check", "test", "test-all", "audit"}
    assert targets <= set(re.findall(r"^([\w-]+):(?!=)", MAKEFILE, re.MULTILINE))


def test_make_takes_the_python_that_the_job_has_set_up() -> None:
    """Without PYTHON, make takes the newest on the runner, whatever the matrix says."""
    jobs = [(name, job) for name, job in list_jobs() if any(map(_MAKE.search, list_scripts(job)))]
    assert jobs
    for name, job in jobs:
        assert job["env"]["PYTHON"] == f"python{_find_python(job)}", name


def _find_python(job: Job) -> str:
    (version,) = (
        step["with"][key]
        for step in job["steps"]
        for key in ("python", "python-version")
        if key in step.get("with", {})
    )
    return str(version)


def test_every_python_that_the_project_names_is_tested() -> None:
    (jobs,) = (load_yaml(path)["jobs"] for path in WORKFLOWS if path.name == "checks.yml")
    prefix = "Programming Language :: Python :: "
    names = [each.removeprefix(prefix) for each in PYPROJECT["project"]["classifiers"]]
    assert jobs["test"]["strategy"]["matrix"]["python"] == [v for v in names if v[0].isdigit()]


@by_name
def test_every_workflow_reads_only_and_is_bounded(path: Path) -> None:
    workflow = load_yaml(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert set(workflow["concurrency"]) == {"group", "cancel-in-progress"}
    assert workflow["concurrency"]["group"].startswith(f"{path.stem}-")


def test_only_the_job_that_publishes_may_write() -> None:
    permissions = {name: job["permissions"] for name, job in list_jobs() if "permissions" in job}
    assert permissions == {
        "release.yml:publish": {"contents": "write"},
        "release.yml:push-image": {},
    }


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=lambda path: path.name)
def test_actions_are_githubs_own_by_major_version_and_no_host_is_named(path: Path) -> None:
    text = path.read_text()
    for action in re.findall(r"\buses: (\S+)", text):
        assert re.fullmatch(r"actions/[\w-]+@v\d+", action) or (ROOT / action).exists(), action
    assert _HOST.findall(text) == []


def test_the_hooks_run_what_make_check_runs() -> None:
    """Hooks name their programs by path, as make does: so the versions are the pinned ones."""
    assert [hook["entry"] for hook in HOOKS] == _list_commands_of_check()


def _list_commands_of_check() -> list[str]:
    """Ask make, as if .venv were ready."""
    environ = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    command = ["make", "--dry-run", "--old-file=.venv/.ready", f"PYTHON={sys.executable}", "check"]
    ran = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    return ran.stdout.splitlines()


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook["id"]))
def test_every_hook_looks_at_the_whole_project_and_installs_nothing(hook: dict[str, Any]) -> None:
    assert (hook["language"], hook["pass_filenames"]) == ("system", False)
    assert hook["entry"].startswith(".venv/bin/")


def test_every_hook_runs_for_some_file_of_the_project() -> None:
    files = [str(path.relative_to(ROOT)) for path in [*ROOT.glob("*"), *ROOT.glob("*/*")]]
    for hook in HOOKS:
        assert any(map(re.compile(hook.get("files", "")).search, files)), hook["id"]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_template_is_short(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= TEMPLATE_LINES
    if path.parent.name == "ISSUE_TEMPLATE":
        head = yaml.safe_load(text.split("---\n")[1])
        assert set(head) == {"name", "about", "labels"}


def test_editors_break_lines_where_the_linter_does() -> None:
    config = configparser.ConfigParser()
    config.read_string(f"[DEFAULT]\n{(ROOT / '.editorconfig').read_text()}")
    assert config.getint("*.py", "max_line_length") == PYPROJECT["tool"]["ruff"]["line-length"]
