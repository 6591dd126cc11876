"""The Kafka broker: a configured one, one started here from its jars, or one in Docker.

Most callers need `running_broker`; `run`, `stop` and `status` implement `headrace broker`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from streams.errors import BrokerUnavailable, UsageError
from streams.ops.broker import local
from streams.ops.broker.choose import Choice, choose
from streams.ops.broker.home import BrokerStatus, Home
from streams.ops.broker.network import reachable
from streams.settings.service import ServiceSettings

__all__ = ["BrokerStatus", "Choice", "choose", "run", "running_broker", "status", "stop"]

Progress = Callable[[str], None]


def _ignore_progress(_: str) -> None:
    pass


@contextmanager
def running_broker(
    settings: ServiceSettings,
    *,
    progress: Progress = _ignore_progress,
    config: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Provide a broker while the context is open; yield its address, host:port.

    In this order: the one that HEADRACE_BOOTSTRAP names, the one that already runs on this state
    directory, a new one.  A new one ends with the context, and with this process if that is killed;
    its data stay in the state directory (in Docker they are removed).
    config: broker settings for a new one.  progress: called with a message about each slow step.
    Raises BrokerUnavailable if there is none of the three, and ExtraMissing if only Docker is left
    and the extra `container` is not installed.
    """
    match choose(settings):
        case Choice.CONFIGURED:
            yield _configured_broker(settings)
        case Choice.LOCAL:
            with local.running(settings, progress, config or {}) as bootstrap:
                yield bootstrap
        case Choice.DOCKER:
            from streams.ops.broker import container  # slow to import, and needs an extra

            with container.running(settings, progress, config or {}) as bootstrap:
                yield bootstrap


def run(
    settings: ServiceSettings, *, foreground: bool = True, progress: Progress = _ignore_progress
) -> BrokerStatus:
    """Start the local broker of this state directory, unless it runs already.

    foreground: return only when it has ended, and end it on an interrupt; otherwise return when it
    is ready and leave it running.  Raises BrokerUnavailable, and UsageError if HEADRACE_BOOTSTRAP
    names another broker.
    """
    if settings.bootstrap:
        raise UsageError(
            f"HEADRACE_BOOTSTRAP names the broker {settings.bootstrap}",
            advice="Unset it to run a local one.",
        )
    if choose(settings) is Choice.DOCKER:
        raise BrokerUnavailable(
            "this machine can run Kafka only in Docker, where it ends with its command",
            advice="Install Java 17 or later and Maven, or use `headrace up`.",
        )
    return local.run(settings, foreground, progress)


def stop(settings: ServiceSettings, *, progress: Progress = _ignore_progress) -> bool:
    """End the local broker of this state directory; return False if none ran."""
    return local.stop(Home(settings.state_dir), progress)


def status(settings: ServiceSettings) -> BrokerStatus:
    """Return the status of the configured broker, else of this state directory's local one."""
    if settings.bootstrap:
        return BrokerStatus(reachable(settings.bootstrap), settings.bootstrap, None, None, None)
    return local.status(Home(settings.state_dir))


def _configured_broker(settings: ServiceSettings) -> str:
    bootstrap = settings.bootstrap or ""
    if not reachable(bootstrap):
        raise BrokerUnavailable(
            f"no broker answers at HEADRACE_BOOTSTRAP={bootstrap}",
            advice="Start it, or unset HEADRACE_BOOTSTRAP and run `headrace up`.",
        )
    return bootstrap
