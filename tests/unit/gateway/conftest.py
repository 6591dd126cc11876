from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.guarded import KEY, Guarded, Json
from tests.unit.protocols.summit.routes.summit_bench import summit_bench


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayBench]:
    with GatewayBench(tmp_path) as bench:
        yield bench


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    tokens = folder / "tokens.jsonl"
    tokens.write_text("# of this test\n")
    settings: Json = {"tokens": tokens, "principal_key": KEY, "summit_wait_s": 20}
    with summit_bench(folder, **settings, gateway_principal_requests=1000) as bench:
        yield Guarded(bench, tokens)
