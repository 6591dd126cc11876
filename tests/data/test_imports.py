"""Which module may import what, and how large code may grow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("headrace", "schemas", "topology", "streams")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
MODULES = tuple(path.relative_to(ROOT).as_posix() for path in FILES)

ONLY = {
    "faust": "streams/engine/faust_host/*.py",
    "mode": "streams/engine/faust_host/*.py",
    "aiokafka": "streams/engine/f*/*.py",  # fetched, faust_host
    "confluent_kafka": "streams/engine/kafka.py",
    "rocksdict": "streams/engine/store.py",
    "fastavro": "schemas/codec.py",
    "headrace_native": "schemas/native.py",
    "testcontainers": "streams/ops/broker/container.py",
    "docker": "streams/ops/broker/container.py",
    "a2a": "streams/doors/a2a/*.py",
    "mcp": "streams/doors/mcp/*.py",
    "mcp_types": "streams/doors/mcp/*.py",
    "textual": "streams/cli/watch/*.py",
    "pyarrow": "streams/analytics/*.py",
}
REGISTRY_CLIENT = "streams/registry/client.py"
"""The library for Kafka has the one for schema registries too, which is another."""
FUNCTION_LINES = 60
FILE_LINES = 400


@cache
def tree_of(name: str) -> ast.Module:
    """Return the syntax of a module; parsed when a test needs it, since every tester collects."""
    return ast.parse((ROOT / name).read_text())


def imported(tree: ast.AST) -> Iterator[str]:
    """The top-level names of all modules imported, wherever the statement stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield (node.module or "").partition(".")[0]


@pytest.mark.parametrize("library", ONLY)
def test_one_module_imports_each_engine_library(library: str) -> None:
    users = {name for name in MODULES if library in imported(tree_of(name))}
    users.discard(REGISTRY_CLIENT if library == "confluent_kafka" else "")
    assert all(fnmatch(name, ONLY[library]) for name in users), users


def test_only_the_settings_read_the_environment() -> None:
    """And the codec, which must know its one setting where no settings are loaded."""
    readers = {
        name
        for name in MODULES
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv"}
    }
    assert readers == {"streams/settings/composed.py", "schemas/native.py"}


@pytest.mark.parametrize("name", MODULES)
def test_files_and_functions_stay_small(name: str) -> None:
    assert len((ROOT / name).read_text().splitlines()) <= FILE_LINES
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < FUNCTION_LINES, node.name
