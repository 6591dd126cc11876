from __future__ import annotations

from tests.unit.views.conftest import bench

__all__ = ["bench"]
