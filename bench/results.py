"""What a run has measured, as one JSON file: every single figure, on what machine, of what code.

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
class Kept:
    """The runs of one benchmark: a label each, and figures whose names end in their unit."""

    bench: str
    about: str
    parameters: dict[str, Any]
    quick: bool
    versions: dict[str, str] = field(default_factory=dict)
    runs: list[dict[str, Figure]] = field(default_factory=list)

    def add(self, run: str, **figures: Figure) -> None:
        """Keep one, and print it."""
        self.runs.append({"run": run, **figures})
        shown = "  ".join(f"{name} {text(value)}" for name, value in figures.items())
        print(f"  {run:26} {shown}", flush=True)


def text(value: Figure) -> str:
    """As many digits as a reader needs."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value


def parse(
    parser: argparse.ArgumentParser, arguments: list[str] | None, quick: dict[str, Any]
) -> argparse.Namespace:
    """With --into and --quick; what `quick` names are the defaults then."""
    parser.add_argument("--into", type=Path, default=Settings.load().state_dir / "bench-results")
    parser.add_argument("--quick", action="store_true", help="show that it works, in a minute")
    if parser.parse_known_args(arguments)[0].quick:
        parser.set_defaults(**quick)
    return parser.parse_args(arguments)


@contextlib.contextmanager
def kept(bench: str, about: str | None, options: argparse.Namespace) -> Iterator[Kept]:
    """Written as `<into>/<bench>.json` when the block is through; not if it fails.

    about: the docstring of the benchmark, of which the first sentence is kept.
    """
    said = " ".join((about or "").split("\n\n")[0].split())
    given = {name: value for name, value in vars(options).items() if name not in OPTIONS}
    parameters = {k: v.name if isinstance(v, Path) else v for k, v in given.items()}
    own = Kept(bench, said, parameters, options.quick)
    print(f"{bench}: {said}", flush=True)
    started, began, load = datetime.now(UTC), time.monotonic(), os.getloadavg()[0]
    yield own
    commit, changed = commit_of(ROOT)
    file = options.into / f"{bench}.json"
    options.into.mkdir(parents=True, exist_ok=True)
    document = {
        "bench": bench,
        "about": own.about,
        "quick": own.quick,
        "parameters": own.parameters,
        "started": started.isoformat(timespec="seconds"),
        "took_s": round(time.monotonic() - began, 1),
        "load_before": round(load, 2),
        "commit": commit,
        "uncommitted_changes": changed,
        "machine": machine(),
        "versions": {**versions(), **own.versions},
        "runs": own.runs,
    }
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{bench}: {len(own.runs)} runs in {document['took_s']} s, kept in {file}", flush=True)


def commit_of(root: Path) -> tuple[str, bool]:
    """What is checked out, and whether the code has been changed since."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    code = ("schemas", "topology", "streams", "bench/*.py", "requirements.txt")
    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--", *code))
    except (OSError, subprocess.CalledProcessError):
        return "unknown", True


def machine() -> dict[str, Figure]:
    """What the kernel says of it."""
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
    found = {"python": platform.python_version(), "kafka": IMAGE.rpartition(":")[2]}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def versions_in(python: Path, *names: str) -> dict[str, str]:
    """Of packages as another interpreter sees them; empty where they are not all installed."""
    asked = f"import importlib.metadata as m; print(*map(m.version, {names!r}))"
    if not python.exists():
        return {}
    done = subprocess.run(
        [str(python), "-c", asked], capture_output=True, text=True, timeout=60, check=False
    )
    return dict(zip(names, done.stdout.split(), strict=True)) if done.returncode == 0 else {}
