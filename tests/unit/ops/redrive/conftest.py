from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.protocols.apc.processor import processor
from tests.unit.views.bench import Bench

FailingSender = Callable[..., list[str]]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    system = Bench(tmp_path, prefix="acme.")
    yield system
    system.close()


@pytest.fixture
def send_failing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> FailingSender:
    """Sends packets while the service cannot judge them; returns where they lie."""

    def send(*packets: Any) -> list[str]:
        with monkeypatch.context() as patch:
            patch.setattr(processor, "_judge", fail)
            return bench.send("apc.packets", *packets)

    return send


def fail(*_: object) -> None:
    raise RuntimeError("a fault of this version")
