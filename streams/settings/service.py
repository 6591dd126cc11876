"""The settings of the service itself, and the functions that declare settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from streams.settings.values import Declaration

PREFIX = "HEADRACE_"
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("text", "json")


def setting(env: str, default: Any, meaning: str, kind: str = "text", **options: Any) -> Any:
    """Declare a field of a settings dataclass; `env` is its variable without the prefix."""
    declaration = Declaration(PREFIX + env, kind, default, meaning, **options)
    visible = not declaration.secret
    return field(default=default, repr=visible, metadata={"declaration": declaration})


def number(env: str, default: int, meaning: str, low: int, high: int, work: bool = False) -> Any:
    return setting(env, default, meaning, "whole number", low=low, high=high, work=work)


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """The addresses, directories and limits of the service."""

    bootstrap: str | None = setting(
        "BOOTSTRAP", None, "Kafka to use, host:port[,host:port…]; unset, a local one is started"
    )
    state_dir: Path = setting(
        "STATE_DIR",
        Path(".headrace"),
        "where RocksDB, views and the local broker keep data",
        "path",
    )
    prefix: str = setting("PREFIX", "", "put before all topic, group and transactional names")
    partitions: int = number(
        "PARTITIONS", 4, "partitions of every input topic, fixed once they are created", 1, 256
    )
    replication_factor: int | None = setting(
        "REPLICATION_FACTOR",
        None,
        "replicas of topics that are created; unset, as the brokers' default says",
        "whole number",
        low=1,
        high=32,
    )
    min_insync_replicas: int | None = setting(
        "MIN_INSYNC_REPLICAS",
        None,
        "replicas that must have a record before it counts, of topics that are created; unset, as"
        " the brokers' default says",
        "whole number",
        low=1,
        high=32,
    )
    gateway: str = setting("GATEWAY", "127.0.0.1:8640", "where the HTTP gateway listens")
    gateway_max_body_bytes: int = number(
        "GATEWAY_MAX_BODY_BYTES", 16_777_216, "largest body of a request", 1024, 1 << 30
    )
    gateway_max_requests: int = number(
        "GATEWAY_MAX_REQUESTS", 256, "requests answered at once, streams left out", 1, 100_000
    )
    gateway_wait_s: int = number(
        "GATEWAY_WAIT_S", 10, "seconds that a query waits for the record that it is to see", 0, 600
    )
    gateway_max_connections: int = number(
        "GATEWAY_MAX_CONNECTIONS", 4096, "connections to a gateway at once", 1, 1_000_000
    )
    gateway_max_streams: int = number(
        "GATEWAY_MAX_STREAMS", 2000, "clients that follow a stream at once", 1, 1_000_000
    )
    gateway_principal_requests: int = number(
        "GATEWAY_PRINCIPAL_REQUESTS", 64, "requests of one principal at once", 1, 100_000
    )
    gateway_principal_streams: int = number(
        "GATEWAY_PRINCIPAL_STREAMS", 100, "streams that one principal follows at once", 1, 1_000_000
    )
    tokens: Path | None = setting(
        "TOKENS",
        None,
        "file of the bearer tokens that a gateway takes; unset, it needs none and is on loopback"
        " only",
        "path",
    )
    token: str | None = setting(
        "TOKEN", None, "bearer token for a gateway, of commands and clients", secret=True
    )
    principal_key: str | None = setting(
        "PRINCIPAL_KEY",
        None,
        "keys, parted by commas, that sign who sent a record; the same in gateways and workers;"
        " unset, facts show `unauthenticated`",
        "keys",
        secret=True,
    )
    audit_key: Path | None = setting(
        "AUDIT_KEY", None, "file of the private key that `headrace audit write` signs with", "path"
    )
    audit_public_key: Path | None = setting(
        "AUDIT_PUBLIC_KEY",
        None,
        "file of the public key that `headrace audit verify` holds checkpoints against",
        "path",
    )
    log_level: str = setting("LOG_LEVEL", "info", "least level that is logged", choices=LOG_LEVELS)
    log_format: str = setting(
        "LOG_FORMAT", "text", "lines of the log: text, or JSON objects", choices=LOG_FORMATS
    )
    metrics: str | None = setting(
        "METRICS",
        None,
        "where a worker serves /metrics, /healthz and /readyz, host:port; unset, nowhere",
    )
    crash_at: str = setting(
        "CRASH_AT", "", "NAME[:N], a point at which a worker dies, to test what survives it"
    )
    block_cache_mib: int = number(
        "BLOCK_CACHE_MIB", 64, "MiB of RocksDB's blocks that a process keeps in memory", 1, 1 << 20
    )
    batch: int = number("BATCH", 1000, "most records of one transaction", 1, 100_000)
    broker_port: int = number(
        "BROKER_PORT", 19640, "port of the local broker; a free one if it is taken", 1024, 65535
    )
    max_record_bytes: int = number(
        "MAX_RECORD_BYTES", 8_388_608, "largest record that is produced", 1024, 1 << 30, True
    )

    @classmethod
    def of(cls, settings: ServiceSettings) -> Self:
        """Narrow settings to this class; a process's `Settings` are of each.  Raises TypeError."""
        if not isinstance(settings, cls):
            raise TypeError(f"{type(settings).__name__} is no {cls.__name__}")
        return settings

    def as_work(self) -> Mapping[str, Any]:
        """Return the settings that processors see: values by name without HEADRACE_."""
        return MappingProxyType(
            {
                declaration.env.removeprefix(PREFIX): getattr(self, key)
                for key, declaration in declarations(type(self)).items()
                if declaration.work
            }
        )

    def retention_h(self) -> Mapping[str, int]:
        """Return the retention in hours, by name of the topics that have a setting for it."""
        return {
            declaration.retention_of: getattr(self, key)
            for key, declaration in declarations(type(self)).items()
            if declaration.retention_of
        }


def declarations(settings_class: type[ServiceSettings]) -> Mapping[str, Declaration]:
    """Return the settings of a class by field, inherited ones first."""
    return MappingProxyType(
        {each.name: each.metadata["declaration"] for each in fields(settings_class)}
    )
