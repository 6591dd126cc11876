"""Every process that has stores keeps to the block cache that is set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from streams.client.kept_view import KeptView
from streams.engine import worker
from streams.engine.memory import MemoryLog
from streams.engine.store import Store, limit_block_cache
from streams.engine.worker import run_worker
from streams.errors import BrokerUnavailable
from streams.gateway.server import start_view
from streams.ops.topics import create_topics
from streams.settings import Settings

MIB = 7


@pytest.fixture
def unset() -> Iterator[None]:
    yield
    limit_block_cache(Settings().block_cache_mib << 20)


def capacity(path: Path) -> int:
    """Of the cache of a store that is opened now."""
    with Store(path) as store:
        return cast(int, store._db.property_int_value("rocksdb.block-cache-capacity"))


def _worker(log: Any, settings: Settings) -> None:
    with pytest.raises(BrokerUnavailable):
        run_worker(settings, list)


def _gateway(log: Any, settings: Settings) -> None:
    with start_view(log, settings):
        pass


def _client(log: Any, settings: Settings) -> None:
    client_view = KeptView(log, settings, lambda: 0)
    client_view.read(lambda view: None, None, 0)
    client_view.close()


def _command(log: Any, settings: Settings) -> None:
    with start_view(log, settings):
        pass


@pytest.mark.parametrize("run", [_worker, _gateway, _client, _command])
@pytest.mark.usefixtures("unset")
def test_the_limit_is_that_of_the_setting(
    run: Callable[[Any, Settings], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(settings: Settings) -> None:
        raise BrokerUnavailable("nobody answers")

    monkeypatch.setattr(worker, "connect", away)
    settings = Settings.load({}, state_dir=tmp_path / "state", block_cache_mib=MIB)
    log = MemoryLog(lambda: 0)
    create_topics(log, settings)
    assert capacity(tmp_path / "before") == Settings().block_cache_mib << 20
    run(log, settings)
    assert capacity(tmp_path / "after") == MIB << 20
