"""Scenarios: the real processors, codecs, views and routes over the in-memory log.

Time is the scenario's own, so the same lines give the same output on every run.
"""

from streams.play.lines import LineError
from streams.play.scenario import START_MS, Scenario, play

__all__ = ["START_MS", "LineError", "Scenario", "play"]
