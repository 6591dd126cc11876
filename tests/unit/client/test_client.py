"""The client before it talks to anybody."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import streams
from streams import Client, errors
from streams.client.http import PATHS
from streams.ingress.edges import EDGES
from streams.settings import Settings
from tests.unit.client.loops import Run
from tests.unit.envelopes import idea

NOBODY = "http://127.0.0.1:9"


@pytest.mark.parametrize("url", ["", "127.0.0.1:8640", "ftp://host", "http://", "http://h:x"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(errors.UsageError, match="address"):
        Client(url)


def test_a_client_is_used_while_it_is_open(run: Run) -> None:
    async def test() -> None:
        hr = Client(NOBODY)
        with pytest.raises(errors.UsageError, match="async with"):
            await hr.send("apc.packets", idea())
        async with hr:
            with pytest.raises(errors.UsageError, match="open already"):
                await hr.__aenter__()
        with pytest.raises(errors.UsageError, match="async with"):
            hr.tail("rtes.events")
        with pytest.raises(errors.UsageError, match="async with"):
            await hr.query("/v1/apc/packets")
        await hr.close()

    run(test())


def test_a_gateway_that_is_not_there(run: Run) -> None:
    async def test() -> None:
        async with Client(NOBODY) as hr:
            with pytest.raises(errors.GatewayUnavailable, match=NOBODY):
                await hr.query("/v1/apc/packets")
            with pytest.raises(errors.GatewayUnavailable, match="headrace up"):
                await hr.send("apc.packets", idea(), attempts=2)
            with pytest.raises(errors.GatewayUnavailable):
                await anext(hr.tail("rtes.events"))

    run(test())


def test_a_broker_that_is_not_there(run: Run, tmp_path: Path) -> None:
    async def test() -> None:
        for bootstrap in (None, "127.0.0.1:9"):
            with pytest.raises(errors.BrokerUnavailable):
                async with Client(settings=Settings(bootstrap=bootstrap, state_dir=tmp_path)):
                    pass

    run(test())


def test_a_gateway_follows_the_event_stream_alone(run: Run) -> None:
    async def test() -> None:
        async with Client(NOBODY) as hr:
            with pytest.raises(errors.UsageError, match=r"rtes\.events alone"):
                hr.tail("apc.events")

    run(test())


def test_nothing_is_sent_of_nothing(run: Run) -> None:
    async def test() -> None:
        async with Client(NOBODY) as hr:
            assert await hr.send("apc.packets", []) == []

    run(test())


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", "x")
    with pytest.raises(errors.SettingsError, match="BOOTSTRAP"):
        Client()


def test_every_topic_of_envelopes_has_a_path() -> None:
    """Rewinds are ordered, not sent: the answer is the fact about them; agents are put."""
    assert PATHS.keys() == EDGES.keys() - {"saop.controls", "saop.rewinds", "asap.manifests"}


def test_a_rewind_is_not_sent_through_a_gateway(run: Run) -> None:
    async def test() -> None:
        async with Client("http://127.0.0.1:1") as hr:
            with pytest.raises(errors.UsageError, match="not sent through a gateway"):
                await hr.send("saop.rewinds", {"rewind_id": "r"})

    run(test())


def test_importing_the_package_stays_light() -> None:
    code = "import sys, streams; print('streams.client' in sys.modules, 'httpx' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]


def test_the_public_names_are_there() -> None:
    assert all(getattr(streams, name) is not None for name in streams.__all__)
    with pytest.raises(AttributeError):
        _ = streams.nothing
