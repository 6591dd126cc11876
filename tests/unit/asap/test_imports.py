"""Importing what is of ASAP loads nothing of the engine (asap spec 1)."""

from __future__ import annotations

import subprocess
import sys

import streams.asap
from tests.processes import ROOT

HEAVY = ("faust", "mode", "aiokafka", "confluent_kafka", "rocksdict", "testcontainers", "docker")
NAMES = [name for name in streams.asap.__all__ if name != "Handler"]
CODE = """
import sys
from streams import {name}
loaded = {{module.partition('.')[0] for module in sys.modules}}
print(sorted(loaded & set({heavy!r})))
"""


def test_no_kafka_no_faust_no_rocksdb() -> None:
    code = CODE.format(name=", ".join(NAMES), heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_all_names_are_in_one_place() -> None:
    for name in NAMES:
        assert getattr(streams, name) is getattr(streams.asap, name)
