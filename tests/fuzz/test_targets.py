"""Each target, fuzzed for a bounded count of runs from a fixed seed: what fails, the change broke.

Other seeds, and longer: `python -m tests.fuzz TARGET -seed=N -runs=N`.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import example_count
from tests.processes import ROOT, environ_of

RUNS = {
    "codec": 60_000,
    "edges": 12_000,
    "jsonrpc": 10_000,
    "masking": 4_000,
    "processors": 20_000,
    "scenario": 1_500,
    "tlog": 60_000,
}
LONG = {"jsonrpc", "scenario"}
"""They take half the time of all; quick runs have `test_jsonrpc`, and `play` over all scenarios."""
BY_A_SHELL = ("sh", "-c", '"$@"; exit $?', "sh")
"""libFuzzer holds against its limit what the process that starts it has had of memory, too."""
_DONE = re.compile(r"^Done (\d+) runs", re.MULTILINE)


@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="atheris has no wheel for this platform"
)
@pytest.mark.parametrize(
    "target",
    [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in RUNS],
)
def test_nothing_but_coded_errors(target: str, tmp_path: Path) -> None:
    artifacts = f"-artifact_prefix={tmp_path}/"
    run_count = example_count(RUNS[target])
    limits = (f"-runs={run_count}", "-seed=7", "-timeout=60", "-rss_limit_mb=2048")
    done = subprocess.run(
        [*BY_A_SHELL, sys.executable, "-m", "tests.fuzz", target, *limits, artifacts],
        cwd=ROOT,
        env=environ_of({"PYTHONHASHSEED": "0"}),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    (runs,) = _DONE.findall(done.stderr)
    assert int(runs) >= run_count
