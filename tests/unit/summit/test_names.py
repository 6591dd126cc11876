"""What is imported from `streams`, and what that loads."""

from __future__ import annotations

import pytest

import streams
import streams.summit
from tests.processes import loaded_by

LIGHT = ("AgentError", "AgentResult", "BudgetExceeded", "CallRejected", "ManifestRejected")
HEAVY = ("confluent_kafka", "rocksdict", "faust", "fastapi")


@pytest.mark.parametrize("name", [*LIGHT, "RunPending", "VerdictPending", "serve_agent"])
def test_a_name_of_streams_is_that_of_summit(name: str) -> None:
    assert getattr(streams, name) is getattr(streams.summit, name)


@pytest.mark.parametrize("name", streams.summit.__all__)
def test_all_names_are_there(name: str) -> None:
    assert getattr(streams.summit, name).__name__ == name


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Agent'"):
        _ = streams.summit.Agent


def test_a_handler_s_module_needs_no_kafka() -> None:
    assert loaded_by(f"from streams import {', '.join(LIGHT)}", HEAVY) == []
