"""The local broker itself, so HEADRACE_BOOTSTRAP plays no part here."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from streams.errors import BrokerUnavailable, UsageError
from streams.ops import broker
from streams.ops.broker import network
from streams.ops.broker.config import listeners
from streams.ops.broker.home import Home, Started
from streams.ops.broker.process import Process
from streams.settings import Settings
from tests.processes import wait_for

pytestmark = pytest.mark.slow

HOLDER = """
import sys, time
from streams.ops import broker
from streams.settings import Settings
with broker.running_broker(Settings.load({}, state_dir=sys.argv[1])) as bootstrap:
    print(bootstrap, flush=True)
    time.sleep(120)
"""


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    settings = Settings.load({}, state_dir=tmp_path)
    yield settings
    broker.stop(settings)


def port_of(bootstrap: str | None) -> int:
    assert bootstrap is not None
    return int(bootstrap.rpartition(":")[2])


def test_a_broker_is_started_reported_and_stopped(settings: Settings) -> None:
    assert broker.status(settings).running is False
    assert broker.stop(settings) is False
    messages: list[str] = []
    started = broker.run(settings, foreground=False, progress=messages.append)
    assert started.running
    assert started == broker.status(settings)
    assert any("ready" in line for line in messages)
    assert network.reachable(started.bootstrap or "")
    assert not network.reachable(f"127.0.0.2:{port_of(started.bootstrap)}")

    again = broker.run(settings, foreground=True, progress=messages.append)
    assert again.pid == started.pid
    assert "runs already" in messages[-1]

    assert broker.stop(settings) is True
    stopped = broker.status(settings)
    assert (stopped.running, stopped.pid) == (False, None)
    assert not network.reachable(started.bootstrap or "")


def test_a_restart_keeps_the_cluster_and_its_port(settings: Settings) -> None:
    with broker.running_broker(settings) as first:
        cluster = network.cluster_id(port_of(first))
    assert broker.status(settings).running is False
    with broker.running_broker(settings) as second:
        assert second == first
        assert network.cluster_id(port_of(second)) == cluster


def test_a_record_of_a_broker_that_is_gone_does_not_matter(settings: Settings) -> None:
    home = Home(settings.state_dir)
    home.make()
    init = Process.of(1)
    assert init is not None
    home.save(Started(Process(1, init.ticks + 1), 19640, "gone"))  # its process id was used again
    assert broker.status(settings).running is False
    assert broker.stop(settings) is False
    with broker.running_broker(settings) as bootstrap:
        assert network.cluster_id(port_of(bootstrap)) != "gone"


def test_the_broker_of_a_state_directory_is_shared(settings: Settings) -> None:
    with broker.running_broker(settings) as first:
        pid = broker.status(settings).pid
        with broker.running_broker(settings) as second:
            assert second == first
        assert broker.status(settings).pid == pid


def test_two_state_directories_have_two_brokers(settings: Settings, tmp_path: Path) -> None:
    other = Settings.load({}, state_dir=tmp_path / "other")
    with broker.running_broker(settings) as first, broker.running_broker(other) as second:
        assert first != second
        assert network.cluster_id(port_of(first)) != network.cluster_id(port_of(second))


def test_a_taken_port_is_replaced_and_the_new_one_recorded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = Settings.load({}, state_dir=tmp_path, broker_port=port)
        with broker.running_broker(settings) as bootstrap:
            assert port_of(bootstrap) != port
            assert broker.status(settings).bootstrap == bootstrap


def test_two_brokers_that_start_in_one_moment_find_ports_of_their_own(tmp_path: Path) -> None:
    """Both find the wanted port free, and one of them gets it."""
    (port,) = network.pick_ports([], 1)
    both = [Settings.load({}, state_dir=tmp_path / name, broker_port=port) for name in "ab"]
    try:
        with ThreadPoolExecutor(2) as pool:
            started = list(pool.map(partial(broker.run, foreground=False), both))
        assert all(one.running for one in started)
        assert port in {port_of(one.bootstrap) for one in started}
        assert started[0].bootstrap != started[1].bootstrap
    finally:
        for settings in both:
            broker.stop(settings)


def test_a_broker_in_the_foreground_lasts_until_it_is_stopped(settings: Settings) -> None:
    ended = threading.Thread(target=broker.run, args=(settings,))
    ended.start()
    wait_for(lambda: broker.status(settings).running, "the broker runs")
    assert broker.stop(settings) is True
    ended.join(60)
    assert not ended.is_alive()


def test_no_broker_is_left_behind_when_its_user_is_killed(settings: Settings) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", HOLDER, str(settings.state_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root) as holder:
        assert holder.stdout is not None
        assert port_of(holder.stdout.readline().decode().strip())
        assert broker.status(settings).running
        holder.kill()
    wait_for(lambda: Home(settings.state_dir).running() is None, "the broker has ended")


def test_a_broker_that_dies_says_why(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (free,) = network.pick_ports([], 1)
        config = listeners(taken.getsockname()[1], free)
        with (
            pytest.raises(BrokerUnavailable, match=r"Kafka ended .* port was taken") as caught,
            broker.running_broker(settings, config=config),
        ):
            pass
    assert "broker.log" in str(caught.value)
    assert broker.status(settings).running is False


def test_broker_settings_that_are_wrong_are_shown(settings: Settings) -> None:
    config = {"log.cleaner.threads": "none"}
    with (
        pytest.raises(BrokerUnavailable, match=r"Invalid value none .* log\.cleaner\.threads"),
        broker.running_broker(settings, config=config),
    ):
        pass


def test_a_state_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = Settings.load({}, state_dir=tmp_path / "file")
    with pytest.raises(BrokerUnavailable, match="HEADRACE_STATE_DIR"):
        broker.run(settings, foreground=False)


def test_a_configured_broker_must_answer(tmp_path: Path) -> None:
    (free,) = network.pick_ports([], 1)
    settings = Settings.load({}, state_dir=tmp_path, bootstrap=f"127.0.0.1:{free}")
    assert broker.status(settings).running is False
    with pytest.raises(BrokerUnavailable, match="headrace up"), broker.running_broker(settings):
        pass
    with pytest.raises(UsageError, match="HEADRACE_BOOTSTRAP"):
        broker.run(settings)
