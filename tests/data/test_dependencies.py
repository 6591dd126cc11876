"""What the product imports is declared, and what is declared is imported."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import files, packages_distributions

import pytest
from packaging.utils import canonicalize_name

from tests.data.test_imports import MODULES, PACKAGES, tree_of
from tests.data.test_requirements import EXTRAS, PROJECT, ROOT, names

BASE = names(PROJECT["dependencies"])
NOT_IMPORTED = {
    "httptools": "uvicorn's parser, whose protocol streams/gateway/http_protocol.py extends",
}
EXTRA_MODULES = {
    "a2a": {
        f"streams/doors/a2a/{name}.py"
        for name in (
            *("calls", "cards", "cursors", "door", "errors", "events", "http_json", "jsonrpc"),
            *("listing", "mapping", "operations", "requests", "responses", "sending", "serving"),
            *("push_configs", "pushing", "streaming", "tasks"),
        )
    },
    "analytics": {
        "streams/cli/sql_session.py",
        *(
            f"streams/analytics/{name}.py"
            for name in (
                *("__init__", "columns", "connection", "export", "folder", "formats", "gate"),
                *("parquet_files", "query", "reference", "refreshing", "rows"),
            )
        ),
    },
    "container": {"streams/ops/broker/container.py"},
    "langchain": {"streams/adapters/langchain.py"},
    "langgraph": {"streams/adapters/langgraph.py", "streams/adapters/langchain.py"},
    "openai": {"streams/adapters/openai_chat.py"},
    "openai-agents": {"streams/adapters/openai_agents.py"},
    "otel": {
        f"streams/doors/otlp/{name}.py"
        for name in (
            "answers",
            "exporter/export",
            "exporter/request",
            "exporter/run",
            "exporter/sdk",
            "exporter/sender",
            "json_request",
            "protobuf",
            "receiver",
            "spans",
        )
    },
    "watch": {"streams/cli/watch/app.py", "streams/cli/watch/widgets.py"},
}
"""The modules that may import what only that extra installs."""
NATIVE = "headrace_native"
"""The compiled codec, which is built from `native/` where that is possible."""
OWN = {*PACKAGES, NATIVE, *sys.stdlib_module_names}
NAMESPACES = ("google", "langgraph", "opentelemetry")
"""The top-level names that several distributions share, each with packages of its own below."""


def installed() -> Mapping[str, list[str]]:
    """Return the distributions that a package comes from; below a shared name by two names."""
    by_name = dict(packages_distributions())
    for namespace in NAMESPACES:
        for distribution in sorted(set(by_name.pop(namespace, ()))):
            for path in files(distribution) or ():
                if path.parts[0] == namespace and len(path.parts) > 2:
                    owners = by_name.setdefault(".".join(path.parts[:2]), [])
                    if distribution not in owners:
                        owners.append(distribution)
    return by_name


INSTALLED = installed()


def package_of(module: str) -> str:
    """Return the name under which `installed` has a module."""
    first, *below = module.split(".")
    return ".".join((first, *below[:1])) if first in NAMESPACES else first


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the names of all packages imported, by `import_module("…")` too."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (package_of(alias.name) for alias in node.names)
            case ast.ImportFrom():
                yield package_of(node.module or "")
            case ast.Call(func=ast.Name("import_module"), args=[ast.Constant(str() as name)]):
                yield package_of(name)


@cache
def foreign(name: str) -> set[str]:
    """Return the distributions that a module of the product imports."""
    modules = set(imported(tree_of(name))) - OWN
    return {canonicalize_name(each) for one in modules for each in INSTALLED.get(one, (one,))}


def test_every_dependency_is_imported_or_has_a_reason() -> None:
    unused = BASE - set().union(*map(foreign, MODULES))
    assert unused == set(NOT_IMPORTED)


def test_every_import_is_declared() -> None:
    """What an extra installs is imported by that extra's modules alone."""
    allowed = {
        name: BASE.union(*(EXTRAS[extra] for extra, of in EXTRA_MODULES.items() if name in of))
        for name in MODULES
    }
    undeclared = {name: foreign(name) - allowed[name] for name in MODULES}
    assert {name: imports for name, imports in undeclared.items() if imports} == {}


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_every_package_of_an_extra_is_imported_by_its_modules(extra: str) -> None:
    used = set().union(*(foreign(name) for name in EXTRA_MODULES[extra]))
    assert EXTRAS[extra] <= used
    assert not EXTRAS[extra] & BASE


def test_every_dependency_says_what_it_is_for() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    for group in ("dependencies", *EXTRAS):
        entries = re.findall(rf"^{group} = \[[^\n]*\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
        assert len(entries) == 1
        for line in entries[0].splitlines():
            assert re.fullmatch(r' {4}"[^"]+", # \S.{5,}', line), line
