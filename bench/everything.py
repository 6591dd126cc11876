"""Every benchmark, one after the other, each as a process of its own.

python -m bench.everything [--only NAME ...] [--but NAME ...] [--quick] [--into DIRECTORY] ...
What it does not know itself is given to each, so it can only be what all of them take.  One that
fails does not stop the others; the exit code says that one did.  Under two hours without the soak
and the coverage, which are only run when they are named; with --quick twenty minutes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from bench.results import ROOT

ALL = (
    "peers",
    "comparison",
    "scaling",
    "restore_rows",
    "latency",
    "restore",
    "memory",
    "view_apply",
    "lineage_queries",
    "gateway",
    "tail",
    "events",
    "sap",
    "asap",
    "summit",
    "mcp",
    "webhooks",
    "masking",
    "audit",
    "analytics",
    "otlp",
    "codec",
    "attacks",
    "console",
    "console_rows",
    "accessibility",
)
LONG = ("soak", "coverage")


def chosen(only: list[str], but: list[str]) -> list[str]:
    return [name for name in only or ALL if name not in but]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=(*ALL, *LONG), default=[])
    parser.add_argument("--but", nargs="+", choices=ALL, default=[])
    options, bench_arguments = parser.parse_known_args(arguments)
    failed = []
    for name in chosen(options.only, options.but):
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", f"bench.{name}", *bench_arguments], cwd=ROOT, check=False
        )
        if done.returncode:
            failed.append(name)
        print(f"{name}: {time.monotonic() - began:.0f} s, exit code {done.returncode}", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
