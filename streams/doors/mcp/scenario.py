"""Runs one scenario: reads its lines and settings from standard input, and prints the output.

It is a process of its own, so that a scenario of somebody else takes no more than its share:
`python -m streams.doors.mcp.scenario`.
"""

from __future__ import annotations

import resource
import sys

import orjson

_BYTES = 1 << 30
_CPU_S = 10


def _dump(line: object) -> str:
    return orjson.dumps(line).decode()


def main() -> None:
    """Run the order, and print `{"lines"}` or `{"error"}`."""
    resource.setrlimit(resource.RLIMIT_DATA, (_BYTES, _BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    from dataclasses import replace

    from streams.errors import HeadraceError
    from streams.play.scenario import play
    from streams.settings import Settings

    order = orjson.loads(sys.stdin.buffer.read())
    try:
        settings = replace(Settings(), partitions=1).assign(order["settings"])
        lines = [each if isinstance(each, str) else _dump(each) for each in order["lines"]]
        answer: dict[str, object] = {"lines": list(play(lines, settings))}
    except (HeadraceError, MemoryError) as exc:
        answer = {"error": str(exc) or "the scenario needs more memory than it may have"}
    sys.stdout.buffer.write(orjson.dumps(answer))


if __name__ == "__main__":
    main()
