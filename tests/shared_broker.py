"""One broker for a whole run: the first test that asks for it, in any tester, has it started.

The process that pytest was started as owns the broker; testers ask it over a Unix socket.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from multiprocessing.connection import Client, Listener
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import pytest

from streams.errors import HeadraceError
from streams.ops.broker import running_broker
from streams.settings import Settings

_ADDRESS = "broker_address"
_OWNER = pytest.StashKey["SharedBroker"]()


class SharedBroker:
    """Starts the broker on demand and serves its address at `address`, a path."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory("-broker")))
        self._lock = Lock()
        self._bootstrap: str | None = None
        self._listener = Listener(str(self._folder / "requests"))
        self.address = str(self._listener.address)
        Thread(target=self._serve, daemon=True).start()

    def bootstrap(self) -> str:
        """Return host:port of the broker, which is started if it is not there yet.

        Raises BrokerUnavailable when it cannot be.
        """
        with self._lock:
            if self._bootstrap is None:
                settings = Settings.load(state_dir=self._folder / "state")
                self._bootstrap = self._stack.enter_context(running_broker(settings))
            return self._bootstrap

    def close(self) -> None:
        self._listener.close()
        with self._lock:
            self._stack.close()

    def _serve(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except OSError:  # closed
                return
            with connection:
                connection.send(self._reply())

    def _reply(self) -> tuple[str | None, str]:
        """Return (bootstrap, "") or (None, what went wrong)."""
        try:
            return self.bootstrap(), ""
        except HeadraceError as exc:
            return None, str(exc)


def ask(address: str) -> str:
    """Ask the owner of the broker for host:port; fails the test when there is no broker."""
    with Client(address) as connection:
        bootstrap, problem = connection.recv()
    if bootstrap is None:
        pytest.fail(problem)
    return str(bootstrap)


def _owner(config: pytest.Config) -> SharedBroker:
    if _OWNER not in config.stash:
        config.stash[_OWNER] = SharedBroker()
    return config.stash[_OWNER]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput[_ADDRESS] = _owner(node.config).address


def pytest_unconfigure(config: pytest.Config) -> None:
    if _OWNER in config.stash:
        config.stash[_OWNER].close()


@pytest.fixture(scope="session")
def broker(pytestconfig: pytest.Config) -> str:
    """Return the address of a real Kafka: HEADRACE_BOOTSTRAP's, else the one of this run."""
    tester: dict[str, Any] | None = getattr(pytestconfig, "workerinput", None)
    return _owner(pytestconfig).bootstrap() if tester is None else ask(tester[_ADDRESS])
