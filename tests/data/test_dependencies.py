"""What the product imports is declared, and what is declared is imported."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions

import pytest
from packaging.utils import canonicalize_name

from tests.data.test_imports import MODULES, PACKAGES, tree_of
from tests.data.test_requirements import EXTRAS, PROJECT, ROOT, names

BASE = names(PROJECT["dependencies"])
NOT_IMPORTED = {
    "httptools": "uvicorn's parser, whose protocol streams/gateway/http_protocol.py extends",
}
EXTRA_MODULES = {
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
    "watch": {"streams/cli/watch/app.py", "streams/cli/watch/widgets.py"},
}
"""The modules that may import what only that extra installs."""
NATIVE = "headrace_native"
"""The compiled codec, which is built from `native/` where that is possible."""
OWN = {*PACKAGES, NATIVE, *sys.stdlib_module_names}
INSTALLED = packages_distributions()
"""top-level module -> the distributions that it comes from."""


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the top-level names of all modules imported, by `import_module("…")` too."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name.partition(".")[0] for alias in node.names)
            case ast.ImportFrom():
                yield (node.module or "").partition(".")[0]
            case ast.Call(func=ast.Name("import_module"), args=[ast.Constant(str() as name)]):
                yield name.partition(".")[0]


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
