from __future__ import annotations

import os

from tests.memory import use_memory

os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
"""Brokers of tests are too short of life to earn what the optimizing compiler costs."""

use_memory()

pytest_plugins = ["tests.collecting", "tests.tiers", "tests.shared_broker", "tests.interruption"]
