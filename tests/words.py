"""The rules for names and docstrings, checked on the syntax tree.

`python -m tests.words [PATH...]` prints what breaks them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ("headrace", "schemas", "topology", "streams")


def terms(text: str) -> frozenset[str]:
    return frozenset(text.split())


VARIABLES = terms(
    "answered asked broken found given held judged kept least most moved own rest said shown told"
    " wanted"
)
"""Participles and vague words: a variable names the thing it holds."""

DEFINITIONS = VARIABLES | terms(
    "Answer Desk Finding Place Scene Standing desk place scene standing"
)
"""Names that no class, function or method has."""

BEGINNINGS = terms(
    "After And As At Because Before But By For From How If In It Its Nobody None Nothing Of On Only"
    " Or So Than That These They This Those To Until What When Where Whether Which While Who Whom"
    " Whose Why With Without"
)
"""First words of docstrings that are fragments."""

NOUNS = terms("A All An Another Any Both Each Every Everything No One Some The Two")
"""First words of noun phrases: good for modules and classes; a function's docstring has a verb."""

THIRD_PERSON = terms("Asks Checks Makes Raises Reads Returns Runs Sends Takes Writes")

PUBLISHED = ("schemas/asap/", "schemas/sap/models.py", "streams/demo/", "/responses.py")
"""Files with docstrings that are published: in JSON Schemas, in OpenAPI, in the demo's output."""

RECORDED = frozenset(
    {
        "streams/ops/doctor/findings.py: said",
        "streams/protocols/apc/responses.py: given",
        "streams/protocols/saop/processor/ordering.py: held",
        "streams/protocols/saop/responses.py: moved",
        "streams/protocols/summit/queries/evidence.py: found",
    }
)
"""Fields that are members of published or recorded JSON."""

_PARAMETER = re.compile(r"[a-z_`*][\w`*, ]*: ")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def violations(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the description of each name and docstring that breaks a rule."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in VARIABLES:
                yield node.lineno, f"variable {name}"
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ) if name in DEFINITIONS:
                yield node.lineno, f"definition of {name}"
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            yield from _docstring(node)


def _docstring(node: ast.Module | ast.ClassDef | Function) -> Iterator[tuple[int, str]]:
    text = ast.get_docstring(node)
    if not text or _is_help(node):
        return
    first = text.splitlines()[0]
    word = re.split(r"[\s,:;]", first)[0]
    line = node.body[0].lineno
    if _PARAMETER.match(first):
        yield line, f"docstring begins with a parameter: {first}"
    elif word in BEGINNINGS or (isinstance(node, Function) and word in NOUNS | THIRD_PERSON):
        yield line, f"docstring is no sentence that begins with a verb: {first}"


def _is_help(node: ast.AST) -> bool:
    """Return whether the docstring is the help of a click command."""
    decorators = getattr(node, "decorator_list", ())
    return any(re.search(r"\b(command|group)\b", ast.unparse(each)) for each in decorators)


def check(paths: Iterable[Path]) -> Iterator[str]:
    """Yield `path:line: description` of each violation in the Python files under the paths."""
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            name = file.relative_to(ROOT).as_posix()
            for line, description in violations(file.read_text(encoding="utf-8")):
                if not _is_exempt(name, description):
                    yield f"{name}:{line}: {description}"


def _is_exempt(name: str, description: str) -> bool:
    if description.startswith("docstring"):
        return any(part in name for part in PUBLISHED)
    return f"{name}: {description.removeprefix('variable ')}" in RECORDED


if __name__ == "__main__":
    lines = list(check(map(Path.resolve, map(Path, sys.argv[1:] or PRODUCT))))
    print(*lines, f"{len(lines)} violations", sep="\n")
    sys.exit(bool(lines))
