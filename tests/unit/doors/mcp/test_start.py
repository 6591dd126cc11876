"""Tests of the gateway's start, which does not wait for the SDK."""

from __future__ import annotations

import subprocess
import sys

from tests.processes import ROOT

CODE = "import sys; import streams.gateway.app; print('mcp' in sys.modules)"


def test_the_application_is_made_without_the_sdk() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "False\n"
