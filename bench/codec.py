"""The compiled codec beside the Python one: the same bytes and values, and the time of each.

python -m bench.codec [--records N] Encodes and decodes seeded random values of all schemas with
both, stops at the first difference, and then measures packets of the throughput benchmark,
microseconds of CPU for each.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from bench.packets import packets
from bench.results import parse, record_runs
from schemas import CATALOGUE, from_json
from schemas.native import Functions, compiled_functions, describe, is_installed, python_functions
from tests.unit.schemas.random_values import generator
from topology.apc import APC_PACKETS

SEED = 7
PACKETS = 2000
FRAME = b"\x00\x00\x00\x00\x07"


def compare(schema: Any, count: int) -> int:
    """Compare random values of one schema; return the bytes of their encodings."""
    python, compiled = python_functions(schema), compiled_functions(schema)
    rnd, make, total = Random(SEED), generator(schema), 0
    for number in range(count):
        value = make(rnd)
        framed = python.encode(FRAME, value)
        decoded = python.decode(framed, len(FRAME))
        same = compiled.encode(FRAME, value) == framed
        if not same or repr(compiled.decode(framed, len(FRAME))) != repr(decoded):
            raise SystemExit(f"value {number} of {schema['name']} differs: {value!r}")
        total += len(framed)
    return total


def microseconds(call: Callable[[Any], Any], arguments: Sequence[Any]) -> float:
    """Return the CPU time of one call."""
    began = time.process_time()
    for argument in arguments:
        call(argument)
    return (time.process_time() - began) / len(arguments) * 1e6


def measure(functions: Functions, values: Sequence[Any], rounds: int) -> dict[str, float]:
    """Return the medians of encoding and decoding."""
    bodies = [functions.encode(FRAME, value) for value in values]
    calls: dict[str, tuple[Callable[[Any], Any], Sequence[Any]]] = {
        "encode_us": (lambda value: functions.encode(FRAME, value), values),
        "decode_us": (lambda body: functions.decode(body, len(FRAME)), bodies),
    }
    return {
        name: statistics.median(microseconds(*call) for _ in range(rounds))
        for name, call in calls.items()
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parse(parser, arguments, {"records": 10_000, "rounds": 3})
    if not is_installed():
        raise SystemExit(f"codec: {describe()}: `make native` compiles it")
    record = APC_PACKETS.record or ""
    schemas = [CATALOGUE.latest(name).schema for name in CATALOGUE.records()]
    each = -(-options.records // len(schemas))
    values = [from_json(record, packet) for packet in packets(PACKETS)]
    with record_runs("codec", __doc__, options) as runs:
        total = sum(compare(schema, each) for schema in schemas)
        runs.add("the same", records=each * len(schemas), bytes=total)
        schema = CATALOGUE.latest(record).schema
        for name, make in (("python", python_functions), ("compiled", compiled_functions)):
            runs.add(f"packets, {name}", **measure(make(schema), values, options.rounds))


if __name__ == "__main__":
    main()
