"""python -m tests.fuzz TARGET [-runs=N] [-seed=N] [-rss_limit_mb=N] [FOLDER]

Fuzzes one target of `tests.fuzz.targets` with libFuzzer and ends with what it finds first; FOLDER
keeps inputs that reached something new.  An input that failed is written into the directory where
it runs, and is run again with its path as the only argument.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import atheris

from tests.fuzz import targets

NAMES = tuple(module.name for module in pkgutil.iter_modules(targets.__path__))
_OWN = ("schemas", "topology", "streams")


def main(arguments: list[str]) -> None:
    if not arguments or arguments[0] not in NAMES:
        sys.exit(f"{__doc__}\nTargets: {', '.join(NAMES)}")
    logging.disable(logging.CRITICAL)
    with atheris.instrument_imports(include=list(_OWN)):
        target: Any = importlib.import_module(f"tests.fuzz.targets.{arguments[0]}")
    with tempfile.TemporaryDirectory() as folder:
        seeds = Path(folder)
        for number, seed in enumerate(target.seeds()):
            (seeds / str(number)).write_bytes(seed)
        mutator = getattr(target, "mutate", None)
        more = {"custom_mutator": _mutator(mutator)} if mutator is not None else {}
        only = arguments[1:2] if len(arguments) == 2 and Path(arguments[1]).is_file() else None
        corpora = only or [*arguments[1:], folder]
        atheris.Setup([arguments[0], "-len_control=0", *corpora], target.run, **more)
        atheris.Fuzz()


def _mutator(mutate: Any) -> Any:
    def custom(data: bytes, max_size: int, seed: int) -> bytes:
        dice = random.Random(seed)
        mutant: bytes | None = mutate(data, dice) if dice.random() < 0.7 else None
        if mutant is None or len(mutant) > max_size:
            return bytes(atheris.Mutate(data, max_size))
        return mutant

    return custom


main(sys.argv[1:])
