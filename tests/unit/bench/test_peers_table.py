"""Who is ahead is said in plain words, and only of what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import peers
from bench.neutral.check import Count
from bench.neutral.systems import systems
from bench.peers_table import ratio, ratios, rows, words
from bench.results import Recorder

WHOLE, WARM = "per CPU-second, whole life", "per CPU-second, warm half"


def raced(name: str, whole: float, warm: float) -> dict[str, Any]:
    return {
        "run": name,
        "step": "throughput",
        "delivery": "exactly once",
        "events_per_s": whole,
        "events_per_cpu_s": whole,
        "warm_per_cpu_s": warm,
        "peak_mb": 100.0,
    }


RUNS = [
    *(raced("headrace", rate, rate) for rate in (30_000.0, 33_000.0, 90_000.0)),
    raced("Kafka Streams", 55_000.0, 90_000.0),
    raced("Quix Streams", 11_000.0, 11_000.0),
    {"run": "headrace", "step": "kill", "pause_s": 10.5, "duplicates": 0},
    {"run": "Kafka Streams", "step": "kill", "pause_s": 20.0, "duplicates": 0},
]


def test_a_ratio_is_of_medians() -> None:
    assert ratio(RUNS, "Kafka Streams", WHOLE) == pytest.approx(0.6)
    assert ratio(RUNS, "Quix Streams", WARM) == pytest.approx(3)
    assert ratio(RUNS, "stock Faust", WHOLE) is None
    assert ratio(RUNS, "Quix Streams", "p50 ms") is None


def test_where_headrace_loses_is_said() -> None:
    text = "\n".join(words(RUNS))
    assert "does 0.60 times the events of Kafka Streams" in text
    assert "0.37 times once both are warm: Kafka Streams is ahead." in text
    assert "3.00 times once both are warm: headrace is ahead." in text
    assert "pauses for 10.5 s, Kafka Streams for 20 s." in text
    assert "Faust" not in text


def test_one_that_is_ahead_only_in_all_is_not_called_faster() -> None:
    runs = [raced("headrace", 60.0, 60.0), raced("Kafka Streams", 50.0, 90.0)]
    assert "headrace is ahead in all, Kafka Streams once both are warm." in words(runs)[0]


def test_the_table_has_each_system_and_why_one_is_absent() -> None:
    missing = {"run": "Kafka Streams", "step": "absent", "why": "no Maven on the PATH"}
    head, lines = rows([RUNS[0], missing])
    assert head[:3] == ["", "delivery", "events/s"]
    assert lines[0][:3] == ["headrace", "exactly once", "30,000"]
    assert lines[1][1] == "not measured: no Maven on the PATH"
    assert [line[0] for line in ratios(RUNS)[1]] == [
        "headrace / Kafka Streams",
        "headrace / Quix Streams",
        "headrace / stock Faust",
    ]


@pytest.mark.parametrize(
    ("name", "counts", "duplicates", "step"),
    [
        ("headrace", Count(10, 0, 0, 0), False, "throughput"),
        ("headrace", Count(11, 0, 1, 0), True, "throughput wrong"),
        ("headrace", Count(10, 0, 0, 1), False, "throughput wrong"),
        ("stock Faust", Count(11, 0, 1, 1), True, "throughput"),
        ("stock Faust", Count(11, 0, 1, 0), False, "throughput wrong"),
        ("stock Faust", Count(9, 1, 0, 0), True, "throughput wrong"),
    ],
)
def test_no_figure_counts_of_a_run_that_is_wrong(
    name: str, counts: Count, duplicates: bool, step: str
) -> None:
    runs = Recorder("peers", "", {}, False)
    system = next(each for each in systems(Path("python")) if each.name == name)
    figures = {"events_per_s": 1.0}
    peers._record(runs, system, "throughput", counts, figures, duplicates=duplicates)
    assert runs.runs[0]["step"] == step
    assert ("events_per_s" in runs.runs[0]) == (step == "throughput")
