"""The measurements of a run as one JSON file: every single figure, the machine, the commit.

Every benchmark takes `--into DIRECTORY` (default: `bench-results` in the state directory) and
`--quick`, which only shows that it works; quick figures are marked as such.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from streams.ops.broker.container import IMAGE
from streams.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("aiokafka", "confluent-kafka", "faust-streaming", "fastavro", "orjson", "rocksdict")
Figure = int | float | str
OPTIONS = ("into", "quick")


@dataclass
class Recorder:
    """The runs of one benchmark: a label each, and figures whose names end in their unit."""

    bench: str
    about: str
    parameters: dict[str, Any]
    quick: bool
    versions: dict[str, str] = field(default_factory=dict)
    runs: list[dict[str, Figure]] = field(default_factory=list)

    def add(self, run: str, **figures: Figure) -> None:
        """Store the figures of a run, and print them."""
        self.runs.append({"run": run, **figures})
        rendered = "  ".join(f"{name} {text(value)}" for name, value in figures.items())
        print(f"  {run:26} {rendered}", flush=True)


def text(value: Figure) -> str:
    """Return a figure with as many digits as a reader needs."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value


def parse(
    parser: argparse.ArgumentParser, arguments: list[str] | None, quick: dict[str, Any]
) -> argparse.Namespace:
    """Parse the arguments with --into and --quick; with --quick, `quick` has the defaults."""
    parser.add_argument("--into", type=Path, default=Settings.load().state_dir / "bench-results")
    parser.add_argument("--quick", action="store_true", help="show that it works, in a minute")
    if parser.parse_known_args(arguments)[0].quick:
        parser.set_defaults(**quick)
    return parser.parse_args(arguments)


@contextlib.contextmanager
def record_runs(bench: str, about: str | None, options: argparse.Namespace) -> Iterator[Recorder]:
    """Collect runs; write `<into>/<bench>.json` when the block ends, not if it fails.

    about: the docstring of the benchmark; its first sentence is stored.
    """
    summary = " ".join((about or "").split("\n\n")[0].split())
    arguments = {name: value for name, value in vars(options).items() if name not in OPTIONS}
    parameters = {k: v.name if isinstance(v, Path) else v for k, v in arguments.items()}
    record = Recorder(bench, summary, parameters, options.quick)
    print(f"{bench}: {summary}", flush=True)
    started, began, load = datetime.now(UTC), time.monotonic(), os.getloadavg()[0]
    yield record
    commit, changed = commit_of(ROOT)
    file = options.into / f"{bench}.json"
    options.into.mkdir(parents=True, exist_ok=True)
    document = {
        "bench": bench,
        "about": record.about,
        "quick": record.quick,
        "parameters": record.parameters,
        "started": started.isoformat(timespec="seconds"),
        "took_s": round(time.monotonic() - began, 1),
        "load_before": round(load, 2),
        "commit": commit,
        "uncommitted_changes": changed,
        "machine": machine(),
        "versions": {**versions(), **record.versions},
        "runs": record.runs,
    }
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(
        f"{bench}: {len(record.runs)} runs in {document['took_s']} s, written to {file}", flush=True
    )


def commit_of(root: Path) -> tuple[str, bool]:
    """Return the commit that is checked out, and whether the code has been changed since."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    code = ("headrace", "schemas", "topology", "streams", "bench/*.py", "requirements.txt")
    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--", *code))
    except (OSError, subprocess.CalledProcessError):
        return "unknown", True


def machine() -> dict[str, Figure]:
    """Return the kernel's description of the machine."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": names[0] if names else platform.machine(),
        "memory_gib": round(memory / 2**30, 1),
        "kernel": f"{platform.system()} {platform.release().partition('-')[0]}",
    }


def versions() -> dict[str, str]:
    result = {"python": platform.python_version(), "kafka": IMAGE.rpartition(":")[2]}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            result[name] = version(name)
    return result


def versions_in(python: Path, *names: str) -> dict[str, str]:
    """Return the versions of packages in another interpreter; empty if any is missing."""
    script = f"import importlib.metadata as m; print(*map(m.version, {names!r}))"
    if not python.exists():
        return {}
    done = subprocess.run(
        [str(python), "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    return dict(zip(names, done.stdout.split(), strict=True)) if done.returncode == 0 else {}
