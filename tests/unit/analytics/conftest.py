"""Skip the tests of the export where its extra is not installed."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def extra() -> None:
    pytest.importorskip("pyarrow", reason="needs pip install 'headrace[analytics]'")
