"""The evidence: what the chosen results say, as a page.

python -m bench.report bench/results > docs/evidence.md Each result is one file that a benchmark
wrote (`bench.results`); nothing else is on the page.  The numbers of a file are shown as they are,
the comparison and the soak with a view of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench import comparison_table, peers_table
from bench.export_targets import TARGETS as EXPORT_TARGETS
from bench.results import ROOT, text
from bench.targets import HEAD, SPEED, TARGETS, rows
from streams.docs.markdown import code, grid

NOTICE = "<!-- Written by `python -m bench.report bench/results`; do not edit. -->"
LINKED_FROM = ROOT / "docs"
ORDER = (
    "peers",
    "comparison",
    "scaling",
    "restore_rows",
    "lag",
    "soak",
    "latency",
    "restore",
    "memory",
)
"""The order of the page: these first, then the others by name."""
MODULES = {"lag": "tests.chaos.lag"}
"""Modules outside `bench`, by benchmark; this one checks everything that it has counted."""
WORDS = {
    "mb": "MB",
    "ms": "ms",
    "us": "µs",
    "s": "s",
    "cpu": "CPU",
    "p50": "p50",
    "p95": "p95",
    "p99": "p99",
    "rss": "RSS",
}
Result = dict[str, Any]


def read(directory: Path) -> list[Result]:
    """Return the results of a directory, in the order of the page."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in directory.glob("*.json")]
    return sorted(results, key=lambda one: (_place(one["bench"]), one["bench"]))


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def page(results: Sequence[Result], directory: Path) -> str:
    """Return the whole page.

    directory: with the pictures and tables of the results.
    """
    parts = [NOTICE, "", "# Evidence", "", _introduction(directory)]
    if not results:
        parts.append("No results have been chosen yet.\n")
    else:
        parts += [_runs(results), _aims(results), *(_section(one, directory) for one in results)]
    return "\n".join(parts)


def _introduction(directory: Path) -> str:
    files = f"[{code(_shown(directory))}]({_link(directory)})"
    return (
        f"Measurements, from the files in {files}, which contain every run;\n"
        "the [commands](../bench/README.md) describe each. The broker, the load and the measured\n"
        "process share one machine, and such machines differ by half from one run to the next:\n"
        "compare only within a run.\n"
    )


def _runs(results: Sequence[Result]) -> str:
    """Return a table of where, when and from which commit each result was made."""
    lines = [
        [
            f"[{one['bench']}](#{one['bench']})",
            one["started"].replace("T", " ").replace("+00:00", " UTC"),
            code(one["commit"][:10]) + (", changed" if one["uncommitted_changes"] else ""),
            f"{one['took_s'] / 60:.1f} min",
            text(one["load_before"]),
            _machine(one["machine"]),
        ]
        for one in results
    ]
    head = ("", "date", "commit", "took", "load before", "machine")
    versions = sorted({pair for one in results for pair in one["versions"].items()})
    used = ", ".join(f"{name} {version}" for name, version in versions)
    return f"{grid(head, lines)}\nVersions: {used}.\n"


def _aims(results: Sequence[Result]) -> str:
    next_ones = "What is aimed at next, in speed; some of it is not reached yet:\n"
    tables = [
        grid(HEAD, rows(targets, results)) for targets in ((*TARGETS, *EXPORT_TARGETS), SPEED)
    ]
    return "\n".join(["## Targets\n", tables[0], next_ones, tables[1]])


def _machine(machine: Result) -> str:
    memory = f"{machine['memory_gib']:.0f} GiB"
    return f"{machine['cores']} cores, {machine['processor']}, {memory}, {machine['kernel']}"


def _section(result: Result, directory: Path) -> str:
    parts = [f"## {result['bench']}\n", f"{result['about']}\n", f"{_command(result)}\n"]
    if result["quick"]:
        parts.append("**A quick run: it shows that the command works, not what is reached.**\n")
    parts += [*_views(result), *_tables(result["runs"])]
    picture, table = directory / f"{result['bench']}.png", directory / f"{result['bench']}.csv"
    if picture.exists():
        parts.append(f"![{result['bench']} over time]({_link(picture)})\n")
    if table.exists():
        parts.append(f"All samples: [{code(table.name)}]({_link(table)}).\n")
    return "\n".join(parts)


def _views(result: Result) -> list[str]:
    """Return the tables that come before all runs, where there are some."""
    runs = result["runs"]
    if result["bench"] == "comparison":
        return [grid(*comparison_table.rows(runs)), "Every run:\n"]
    if result["bench"] == "peers":
        tables = [grid(*peers_table.rows(runs)), grid(*peers_table.ratios(runs))]
        return [*peers_table.words(runs), "", *tables, "Every run:\n"]
    return []


def _command(result: Result) -> str:
    """Return the command that repeats a benchmark, without the path of its peers."""
    module = MODULES.get(result["bench"], f"bench.{result['bench']}")
    words = ["python", "-m", module]
    for name, value in result["parameters"].items():
        if value is not None and name != "peers":
            words += [f"--{name.replace('_', '-')}", _plain(value)]
    return code(" ".join(words))


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _tables(runs: Sequence[Result]) -> list[str]:
    """Return a table for all runs with the same figures, in the order of their first run."""
    kinds: dict[tuple[str, ...], list[Result]] = {}
    for run in runs:
        kinds.setdefault(tuple(run), []).append(run)
    return [
        grid(["", *map(_title, names[1:])], ([text(v) for v in run.values()] for run in some))
        for names, some in kinds.items()
    ]


def _title(name: str) -> str:
    """Return a column heading: `packets_per_cpu_s` as packets per CPU s."""
    return " ".join(WORDS.get(word, word) for word in name.split("_"))


def _shown(path: Path) -> str:
    return path.resolve().relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def _link(path: Path) -> str:
    """Return a link, relative to the page for files of the repository."""
    if path.resolve().is_relative_to(ROOT):
        return Path(os.path.relpath(path.resolve(), LINKED_FROM)).as_posix()
    return path.as_posix()


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    options = parser.parse_args(None if arguments is None else list(arguments))
    directory = options.directory.resolve()
    sys.stdout.write(page(read(directory), directory))


if __name__ == "__main__":
    main()
