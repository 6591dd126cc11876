"""A packet that was refused for its size has a row all the same, and so keeps its id taken."""

from __future__ import annotations

from pathlib import Path

from streams.settings import Settings
from streams.verify.run import verify
from tests.e2e.history import values_of
from tests.e2e.outputs import PARTITIONS
from tests.e2e.recorded import Recorded
from tests.unit.protocols.apc.processor.packets import packet
from topology.apc import APC_EVENTS

START_MS = 1_790_000_000_000
TOO_LARGE = "x" * (600 << 10)


def test_a_packet_after_one_of_its_id_that_was_too_large_is_a_conflict(tmp_path: Path) -> None:
    recording = Recorded(tmp_path / "state", START_MS)
    large, small = packet("IDEA", 1), packet("IDEA", 1)
    large["payload"]["intent"] = TOO_LARGE
    recording.log.append([recording.packet(large), recording.packet(small)])
    recording.pass_(1000)
    recording.host.close()
    settings = Settings.load({}, prefix=recording.prefix, partitions=PARTITIONS)
    folder = tmp_path / "verify"
    folder.mkdir()
    report = verify(recording.log, settings, folder)
    rules = [fact["rule"] for fact in values_of(recording, APC_EVENTS)]
    assert rules == ["packet_too_large", "packet_conflict"]
    assert report.findings.shown == []
    assert report.commands["apc.packets"] == 2
