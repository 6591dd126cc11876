"""All benchmarks, one after the other: `python -m bench [--quick]`."""

from __future__ import annotations

import sys

from bench import (
    asap,
    events,
    gateway,
    latency,
    lineage_queries,
    masking,
    memory,
    restore,
    sap,
    summit,
    tail,
    throughput,
    view_apply,
)


def main(arguments: list[str]) -> None:
    quick = "--quick" in arguments
    throughput.main(
        ["--rounds", "1", "--packets", "20000", "--peer-packets", "5000"] if quick else []
    )
    latency.main(["--seconds", "10"] if quick else [])
    restore.main(["--packets", "20000", "--rounds", "1"] if quick else [])
    view_apply.main(["--packets", "8000", "--rounds", "3"] if quick else [])
    events.main(["--records", "4000"] if quick else [])
    lineage_queries.main(["--packets", "50000"] if quick else [])
    gateway.main(["--seconds", "10", "--packets", "5000"] if quick else [])
    tail.main(["--seconds", "8"] if quick else [])
    sap.main(["--seconds", "10", "--tasks", "2000"] if quick else [])
    asap.main(["--seconds", "10"] if quick else [])
    summit.main(["--seconds", "10", "--calls", "2000"] if quick else [])
    masking.main(["--lines", "5000"] if quick else [])
    memory.main(["--minutes", "1" if quick else "10"])


if __name__ == "__main__":
    main(sys.argv[1:])
