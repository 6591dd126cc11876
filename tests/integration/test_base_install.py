"""The base alone, without any extra, runs what headrace promises of it."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest

from tests.data.test_dependencies import EXTRA_MODULES
from tests.integration.installed import Installed
from tests.processes import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCENARIO = str(ROOT / "scenarios/five-protocols.jsonl")
IMPORT_ALL = """
import pkgutil, sys
from importlib import import_module
import schemas, topology, streams
import confluent_kafka.schema_registry

for package in (schemas, topology, streams):
    assert "site-packages" in package.__file__, package.__file__
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if found.name not in sys.argv[1:] and not found.name.endswith(".__main__"):
            import_module(found.name)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"))


def test_commands_know_their_version_and_help(installed: Installed) -> None:
    assert version("headrace") in installed.headrace("--version").stdout
    assert "headrace up" in installed.headrace("--help").stdout


def test_no_module_but_those_of_extras_needs_more(installed: Installed) -> None:
    places = {place for of in EXTRA_MODULES.values() for place in of}
    skipped = [place.removesuffix(".py").replace("/", ".") for place in places]
    ran = installed.run([installed.python, "-c", IMPORT_ALL, *skipped])
    assert ran.returncode == 0, ran.stderr[-3000:]


def test_the_public_names_are_in_the_wheel(installed: Installed) -> None:
    statement = "from headrace import Client, asap, errors; print(asap.Envelope.__module__)"
    ran = installed.run([installed.python, "-c", statement])
    assert (ran.returncode, ran.stdout) == (0, "schemas.asap.envelope\n"), ran.stderr[-3000:]
    ran = installed.run([installed.python, "-m", "headrace", "--version"])
    assert version("headrace") in ran.stdout


def test_a_scenario_comes_out_as_it_does_here(installed: Installed) -> None:
    ran = installed.headrace("play", SCENARIO)
    assert ran.returncode == 0, ran.stderr[-3000:]
    here = [sys.executable, "-m", "streams.cli", "play", SCENARIO]
    assert ran.stdout == subprocess.check_output(here, cwd=ROOT, text=True, timeout=120)


def test_a_worker_and_a_gateway_become_ready(installed: Installed, broker: str) -> None:
    with installed.system(broker, METRICS="127.0.0.1:0") as system:
        worker = re.search(r"metrics at (http://\S+)/metrics", system.worker.text())
        assert worker is not None
        for url in (worker[1], system.url):
            assert httpx.get(f"{url}/readyz", timeout=60).status_code == 200
        agents = httpx.get(f"{system.url}/v1/a2a/agents", timeout=60)
        assert (agents.status_code, agents.json()["rule"]) == (501, "extra_missing")
        assert "a2a" not in httpx.get(f"{system.url}/v1/service", timeout=60).json()["features"]


@pytest.mark.parametrize("command", ["up", "demo"])
def test_a_broker_in_docker_asks_for_its_extra(
    command: str, installed: Installed, tmp_path: Path
) -> None:
    """docker is the only program on the PATH."""
    docker = tmp_path / "docker"
    docker.write_text("#!/bin/sh\nexit 1\n")
    docker.chmod(0o755)
    environ = {"PATH": str(tmp_path), "HEADRACE_STATE_DIR": str(tmp_path / "state")}
    ran = installed.headrace(command, environ=environ)
    assert ran.returncode == 2, ran.stderr
    assert "headrace: extra_missing: " in ran.stderr
    assert "pip install 'headrace[container]'" in ran.stderr
