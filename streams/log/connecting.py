"""The Kafka log of the configured broker, or of the local one that runs."""

from __future__ import annotations

from streams.engine.kafka import KafkaLog
from streams.engine.task import group_of
from streams.errors import BrokerUnavailable
from streams.ops.broker import status
from streams.settings.connection import ConnectionSettings
from streams.settings.service import ServiceSettings


def bootstrap_of(settings: ServiceSettings) -> str:
    """Return the address of the broker to use.  Raises BrokerUnavailable when none answers."""
    broker = status(settings)
    if broker.bootstrap is None:
        raise BrokerUnavailable(
            "no broker is set, and no local one runs in the state directory"
            f" {settings.state_dir.absolute()}"
        )
    if not broker.running:
        raise BrokerUnavailable(f"no broker answers at {broker.bootstrap}")
    return broker.bootstrap


def connect(settings: ConnectionSettings) -> KafkaLog:
    """Return a log whose broker has accepted our connection.

    Raises SettingsError, and BrokerUnavailable or a subclass that gives the broker's reason.
    """
    log = KafkaLog(bootstrap_of(settings), settings.security(), group_of(settings))
    try:
        log.check()
    except BaseException:
        log.close()
        raise
    return log
