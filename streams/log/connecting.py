"""The log of the broker that is set, else of the local one that runs."""

from __future__ import annotations

from streams.engine.kafka import KafkaLog
from streams.engine.task import group_of
from streams.errors import BrokerUnavailable
from streams.ops.broker import status
from streams.settings.connection import ConnectionSettings
from streams.settings.service import ServiceSettings


def bootstrap_of(settings: ServiceSettings) -> str:
    """Where the broker to talk to listens.  Raises BrokerUnavailable when nothing does."""
    found = status(settings)
    if found.bootstrap is None:
        raise BrokerUnavailable("no broker is set, and no local one runs")
    if not found.running:
        raise BrokerUnavailable(f"no broker answers at {found.bootstrap}")
    return found.bootstrap


def connected(settings: ConnectionSettings) -> KafkaLog:
    """A broker has taken us in.

    Raises SettingsError, and BrokerUnavailable with those below it, which say why a broker does
    not.
    """
    log = KafkaLog(bootstrap_of(settings), settings.security(), group_of(settings))
    try:
        log.check()
    except BaseException:
        log.close()
        raise
    return log
