"""Tiers of tests: one marker for each folder of tests, the quick choice, and a table at the end.

`--quick` leaves out what is marked `slow`, and tries a tenth of the examples of each property.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import DEFAULT, example_count, use_quick

TIERS = {
    "unit": "functions and processors, without a broker",
    "data": "invariants over declarations, schemas and documents",
    "contract": "one suite for the log in memory and for Kafka",
    "integration": "the gateway, the commands and the clients as processes on real Kafka",
    "chaos": "kills, freezes, full disks and lost brokers amid real work",
    "e2e": "histories of one protocol, judged by an independent checker",
    "history": "the checker of mixed histories, and what it finds in spoiled ones",
    "upgrade": "logs and state of earlier releases, and a rollout of a later one",
    "skeleton": "a sixth protocol, added at test time: what a new one takes",
    "interop": "other languages' clients and tools read what headrace writes",
    "fuzz": "coverage-guided inputs for decoders and servers",
    "browser": "the console in Chromium",
}
_FOLDERS = {"console": "browser"}
"""The folders whose tier has another name."""
SLOW = "slow"
INTEGRATION = "tests/integration/"
_ROOT = Path(__file__).parent
_OUTPUT = "tier_counts"
_counts: defaultdict[tuple[str, str], float] = defaultdict(float)
"""(tier, column) -> tests, seconds, processes, brokers; the last two of this process's testers."""
_tier = next(iter(TIERS))
"""The tier of the test that runs."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true", help="leave out slow tests, and try a tenth of the examples"
    )


def pytest_configure(config: pytest.Config) -> None:
    for tier, content in TIERS.items():
        config.addinivalue_line("markers", f"{tier}: {content}")
    config.addinivalue_line("markers", f"{SLOW}: left out by --quick")
    if config.getoption("quick"):
        use_quick()
    settings.register_profile(
        "tiers",
        max_examples=example_count(DEFAULT),
        suppress_health_check=[HealthCheck.too_slow],  # a loaded machine is not a fault
    )
    settings.load_profile("tiers")
    _count_processes(config)


def tier_of(path: Path) -> str:
    """Return the tier of a test file: the folder under tests/ in which it lies."""
    folder = path.relative_to(_ROOT).parts[0]
    return _FOLDERS.get(folder, folder)


def _tier_of_node(node_id: str) -> str:
    folder = node_id.split("/")[1]
    return _FOLDERS.get(folder, folder)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(tier_of(item.path))
    if config.getoption("quick"):
        slow = [item for item in items if item.get_closest_marker(SLOW)]
        items[:] = [item for item in items if not item.get_closest_marker(SLOW)]
        config.hook.pytest_deselected(items=slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the integration tests of a quick run on one tester, where they share one system."""
    if not config.getoption("quick"):
        return None
    scheduler: Any = import_module("xdist.scheduler").LoadFileScheduling(config, log)
    scope_of = scheduler._split_scope
    scheduler._split_scope = lambda id: INTEGRATION if id.startswith(INTEGRATION) else scope_of(id)
    return scheduler


def pytest_runtest_logstart(nodeid: str) -> None:
    """Count the processes started from now on for this test's tier."""
    global _tier
    _tier = _tier_of_node(nodeid)


def _count_processes(config: pytest.Config) -> None:
    """Count each process that a tester starts, and the brokers among them."""

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            _counts[_tier, "processes"] += 1
            _counts[_tier, "brokers"] += "kafka.Kafka" in arguments[1]

    sys.addaudithook(count)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    tier = _tier_of_node(report.nodeid)
    _counts[tier, "seconds"] += report.duration
    _counts[tier, "tests"] += report.when == "call" or (
        report.when == "setup" and not report.passed
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand a tester's counts to the process that prints the table."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_OUTPUT] = [
            [*key, count] for key, count in _counts.items() if key[1] in ("processes", "brokers")
        ]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    for tier, column, count in getattr(node, "workeroutput", {}).get(_OUTPUT, ()):
        _counts[tier, column] += count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    line = "{:12} {:>7} {:>8} {:>10} {:>8}".format
    terminalreporter.section("tiers")
    terminalreporter.write_line(line("tier", "tests", "minutes", "processes", "brokers"))
    for tier in TIERS:
        if (tests := _counts[tier, "tests"]) or _counts[tier, "processes"]:
            minutes = f"{_counts[tier, 'seconds'] / 60:.1f}"
            started = int(_counts[tier, "processes"]), int(_counts[tier, "brokers"])
            terminalreporter.write_line(line(tier, int(tests), minutes, *started))
