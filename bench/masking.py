"""What masking costs a line.

python -m bench.masking [--lines N] [--seed N] Lines of 120 characters, each timed by itself in CPU
time.  `ordinary` is tools' output in which one
line in ten holds a secret: the corpus of the budget (median of 30 µs).  The others show the two
ends, and lines of a key block.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path

from bench.cluster import percentile
from bench.results import parse, record_runs
from streams.masking import Block, Masker
from tests.unit.masking import made_up
from tests.unit.masking.test_corpus import FORMS

LENGTH = 120
HARMLESS = Path(__file__).parents[1] / "tests/unit/masking/harmless.txt"
Draw = Callable[[random.Random], str]


def _plain(lines: list[str]) -> Draw:
    """Return a generator of ordinary lines, joined and cut to the length."""

    def draw(rnd: random.Random) -> str:
        line = rnd.choice(lines)
        while len(line) < LENGTH:
            line += f" {rnd.choice(lines)}"
        return line[:LENGTH]

    return draw


def _secret(plain: Draw) -> Draw:
    """Return a generator of lines with a secret in one of its forms before an ordinary text."""
    forms = list(FORMS.values())
    drawn = [(kind, secret) for kind in made_up.KINDS for secret in made_up.secrets(kind)]

    def draw(rnd: random.Random) -> str:
        kind, secret = rnd.choice(drawn)
        return f"{rnd.choice(forms)(kind.key or 'value', secret)} {plain(rnd)}"[:LENGTH]

    return draw


def _in_block(rnd: random.Random) -> str:
    return "".join(rnd.choices(made_up.BASE64, k=64))


def _micros(masker: Masker, lines: list[str], block: Block | None) -> list[float]:
    taken = []
    for line in lines:
        start = time.thread_time_ns()
        masker.pulse(line, block, 0)
        taken.append((time.thread_time_ns() - start) / 1000)
    return taken


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parse(parser, arguments, {"lines": 3000})
    plain = _plain(HARMLESS.read_text(encoding="utf-8").splitlines())
    secret = _secret(plain)
    corpora: dict[str, tuple[Draw, Block | None]] = {
        "ordinary": (lambda rnd: secret(rnd) if rnd.random() < 0.1 else plain(rnd), None),
        "no secrets": (plain, None),
        "only secrets": (secret, None),
        "key block": (_in_block, Block(0, 1, 0)),
    }
    with record_runs("masking", __doc__, options) as runs:
        for name, (draw, block) in corpora.items():
            rnd = random.Random(options.seed)
            lines = [draw(rnd) for _ in range(options.lines)]
            _micros(Masker(), lines[:1000], block)
            taken = _micros(Masker(), lines, block)
            runs.add(
                name,
                median_us=percentile(taken, 0.5),
                p99_us=percentile(taken, 0.99),
                mean_us=sum(taken) / len(taken),
            )


if __name__ == "__main__":
    main()
