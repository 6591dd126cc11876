"""Test that the example draws the figures of an export."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest
from PIL import Image

from tests.unit.analytics.lake import run
from tests.unit.analytics.test_lineage_figures import log_of
from tests.unit.protocols.apc.queries import brute
from tests.unit.protocols.apc.queries.facts import story

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "effectiveness.py"


@pytest.mark.slow
def test_it_prints_and_draws_the_effectiveness_of_each_generation(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the example draws with it")
    history = story(7, 80)
    run(log_of(history), tmp_path / "lake", "apc.events")
    picture = tmp_path / "effectiveness.png"
    paths = {"LAKE": str(tmp_path / "lake"), "PICTURE": str(picture)}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env={**os.environ, **paths, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = {int(row["generation"]): row for row in csv.DictReader(done.stdout.splitlines())}
    packets = list(history.packets.values())
    means = brute.task_means(packets)
    transfers = defaultdict(list)
    for _, packet in packets:
        if packet["packet_type"] == "TRANSFER":
            transfers[packet["trace"]["generation"]].append(packet)
    assert rows.keys() == transfers.keys() != set()
    for generation, sent in transfers.items():
        tasks = [means.get(brute.task_of(packet), (None, None)) for packet in sent]
        taken = Fraction(sum(p["payload"].get("accepted", False) for p in sent), len(sent))
        outcomes = [outcome for outcome, _ in tasks if outcome is not None]
        drifts = [drift for _, drift in tasks if drift is not None]
        outcome = sum(outcomes, Fraction()) / len(outcomes)
        drift = sum(drifts, Fraction()) / len(drifts)
        score = taken / 2 + Fraction(35, 100) * outcome + Fraction(15, 100) * (1 - drift)
        assert int(rows[generation]["transfers"]) == len(sent)
        assert float(rows[generation]["effectiveness"]) == pytest.approx(float(score), abs=1e-6)
    with Image.open(picture) as image:
        assert image.size == (900, 600)
        assert len(image.convert("RGB").getcolors(1 << 20) or []) > 50  # it has lines and texts
