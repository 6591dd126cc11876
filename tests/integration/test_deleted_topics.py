"""A worker whose input is deleted while it reads it: it stops, and says which topic is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.system import live
from topology.apc import APC_PACKETS

pytestmark = pytest.mark.slow
INFRASTRUCTURE = 3
MOST_LINES = 200
"""A worker that asks for the topic again and again writes thousands in the ten seconds."""


def test_a_worker_whose_topic_is_deleted_names_it_and_stops(broker: str, tmp_path: Path) -> None:
    with live(broker, tmp_path) as system:
        name = system.prefix + APC_PACKETS.name
        system.log.delete([name])
        assert system.worker.exit_code() == INFRASTRUCTURE
        lines = system.worker.text().splitlines()
    assert [line for line in lines if "topics_mismatch" in line and name in line]
    assert len(lines) < MOST_LINES, lines[-20:]
