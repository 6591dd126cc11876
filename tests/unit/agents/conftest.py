from __future__ import annotations

from tests.unit.views.conftest import bench
from tests.unit.views.sap.conftest import desk

__all__ = ["bench", "desk"]
