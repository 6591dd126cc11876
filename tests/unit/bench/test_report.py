"""docs/evidence.md says what the chosen result files say, and nothing else."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from bench.report import Result, main, page, read

ROOT = Path(__file__).resolve().parents[3]
CHOSEN = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "evidence.md"


def result(bench: str = "latency", **more: object) -> Result:
    return {
        "bench": bench,
        "about": "Milliseconds of something.",
        "quick": False,
        "parameters": {"rates": [50, 100], "peers": "python"},
        "started": "2026-01-02T03:04:05+00:00",
        "took_s": 90.0,
        "load_before": 0.25,
        "commit": "0123456789abcdef",
        "uncommitted_changes": False,
        "machine": {"cores": 2, "processor": "a CPU", "memory_gib": 23.4, "kernel": "Linux 6"},
        "versions": {"python": "3.11.7"},
        "runs": [{"run": "50/s", "p50_ms": 6.25, "cpu_ms_each": 1234.5}],
        **more,
    }


def test_the_page_is_what_the_chosen_results_give() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read(CHOSEN), CHOSEN)


def test_the_command_prints_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "latency.json").write_text(json.dumps(result()))
    main([str(tmp_path)])
    assert capsys.readouterr().out == page([result()], tmp_path)


def test_another_figure_is_another_page(tmp_path: Path) -> None:
    changed = copy.deepcopy(result())
    changed["runs"][0]["p50_ms"] = 6.35
    assert page([changed], tmp_path) != page([result()], tmp_path)


def test_machine_date_commit_and_command_are_said(tmp_path: Path) -> None:
    text = page([result()], tmp_path)
    assert "2026-01-02 03:04:05 UTC" in text
    assert "`0123456789`" in text
    assert "2 cores, a CPU, 23 GiB, Linux 6" in text
    assert "`python -m bench.latency --rates 50 100`" in text
    assert "| 50/s | 6.25 | 1,234 |" in text


def test_a_target_is_reached_or_not_or_was_not_measured(tmp_path: Path) -> None:
    pages = {
        p99: page([result(runs=[{"run": "100 packets/s", "p99_ms": p99}])], tmp_path)
        for p99 in (39.9, 40.1)
    }
    assert (
        "| the same, p99 ms | at most 40 | 39.9 | yes | `python -m bench.latency` |" in pages[39.9]
    )
    assert "| the same, p99 ms | at most 40 | 40.1 | **no** |" in pages[40.1]
    assert "| a worker's memory at rest, MB | at most 250 | not measured | – |" in pages[39.9]


def test_an_aim_has_the_command_with_the_options_that_it_needs(tmp_path: Path) -> None:
    runs = [
        {"run": f"hits, workers 1, partitions 4{more}", "p99_ms": p99}
        for more, p99 in (("", 60), (", copies", 20))
    ]
    text = page([result("sap", runs=runs)], tmp_path)
    plain = "| a cached answer of SAP at 50/s, p99 ms | at most 25 | 60 | **no** |"
    assert f"{plain} `python -m bench.sap` |" in text
    copied = "| a cached answer from a worker's copy, p99 ms | at most 25 | 20 | yes |"
    assert f"{copied} `python -m bench.sap --copies off on` |" in text


def test_a_ratio_is_of_medians(tmp_path: Path) -> None:
    rates = {"headrace": (3, 9, 4), "stock Faust": (1, 1, 7)}
    runs = [
        {"run": name, "step": "throughput", "delivery": "any", "packets_per_cpu_s": rate}
        for name, values in rates.items()
        for rate in values
    ]
    line = "| packets per CPU-second, of stock Faust's | at least 4 | 4 | yes |"
    assert line in page([result("comparison", runs=runs)], tmp_path)


def test_code_that_was_changed_is_said_to_be(tmp_path: Path) -> None:
    assert ", changed" not in page([result()], tmp_path)
    assert "`0123456789`, changed" in page([result(uncommitted_changes=True)], tmp_path)


def test_a_quick_run_is_marked(tmp_path: Path) -> None:
    assert "A quick run" not in page([result()], tmp_path)
    assert "A quick run" in page([result(quick=True)], tmp_path)


def test_runs_of_other_versions_show_both(tmp_path: Path) -> None:
    results = [result(), result("sap", versions={"python": "3.13.1"})]
    assert "Versions: python 3.11.7, python 3.13.1." in page(results, tmp_path)


def test_what_was_not_measured_is_not_there(tmp_path: Path) -> None:
    assert "No results have been chosen yet." in page([], tmp_path)


def test_runs_with_other_figures_have_a_table_of_their_own(tmp_path: Path) -> None:
    runs = [{"run": "a", "p50_ms": 1}, {"run": "b", "records": 7}, {"run": "c", "p50_ms": 3}]
    text = page([result(runs=runs)], tmp_path)
    assert "|  | p50 ms |\n| --- | --- |\n| a | 1 |\n| c | 3 |\n" in text
    assert "|  | records |\n| --- | --- |\n| b | 7 |\n" in text


def test_a_picture_and_its_samples_are_shown(tmp_path: Path) -> None:
    assert "![" not in page([result("soak")], tmp_path)
    for name in ("soak.png", "soak.csv"):
        (tmp_path / name).touch()
    text = page([result("soak")], tmp_path)
    assert "![soak over time](" in text
    assert "[`soak.csv`](" in text


def test_results_are_read_in_the_order_of_the_page(tmp_path: Path) -> None:
    for name in ("masking", "latency", "asap", "comparison"):
        (tmp_path / f"{name}.json").write_text(json.dumps(result(name)))
    assert [one["bench"] for one in read(tmp_path)] == ["comparison", "latency", "asap", "masking"]
