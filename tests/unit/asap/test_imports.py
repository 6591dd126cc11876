"""Importing what is of ASAP loads nothing of the engine (ASAP guide, 1)."""

from __future__ import annotations

import streams.asap
from tests.processes import loaded_by

HEAVY = ("faust", "mode", "aiokafka", "confluent_kafka", "rocksdict", "testcontainers", "docker")
NAMES = [name for name in streams.asap.__all__ if name != "Handler"]


def test_no_kafka_no_faust_no_rocksdb() -> None:
    assert loaded_by(f"from streams import {', '.join(NAMES)}", HEAVY) == []


def test_all_names_are_in_one_place() -> None:
    for name in NAMES:
        assert getattr(streams, name) is getattr(streams.asap, name)
