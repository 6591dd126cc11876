"""The settings of the service itself, and the functions that declare settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from streams.settings.formats import (
    AGENT_PATTERNS,
    BEARER_TOKEN,
    GATEWAY_KEYS,
    MAC_KEYS,
    MAC_SINCE,
    POSITIONS,
)
from streams.settings.values import Declaration

PREFIX = "HEADRACE_"
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("text", "json")


def setting(env: str, default: Any, meaning: str, kind: str = "text", **options: Any) -> Any:
    """Declare a field of a settings dataclass; `env` is its variable without the prefix."""
    declaration = Declaration(PREFIX + env, kind, default, meaning, **options)
    visible = not declaration.secret
    return field(default=default, repr=visible, metadata={"declaration": declaration})


def number(
    env: str,
    default: int,
    meaning: str,
    low: int,
    high: int,
    work: bool = False,
    rules: tuple[str, ...] = (),
) -> Any:
    return setting(
        env, default, meaning, "whole number", low=low, high=high, work=work, rules=rules
    )


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """The addresses, directories and limits of the service."""

    bootstrap: str | None = setting(
        "BOOTSTRAP",
        None,
        "Kafka brokers, host:port[,host:port…]; if unset, a local broker is started",
    )
    state_dir: Path = setting(
        "STATE_DIR",
        Path(".headrace"),
        "directory for RocksDB, the views and the local broker",
        "path",
    )
    prefix: str = setting(
        "PREFIX", "", "prefix of all topic names, consumer groups and transactional ids"
    )
    partitions: int = number(
        "PARTITIONS", 4, "partitions of every input topic; cannot be changed after creation", 1, 256
    )
    replication_factor: int | None = setting(
        "REPLICATION_FACTOR",
        None,
        "replication factor of topics that headrace creates; if unset, the broker default",
        "whole number",
        low=1,
        high=32,
    )
    min_insync_replicas: int | None = setting(
        "MIN_INSYNC_REPLICAS",
        None,
        "min.insync.replicas of topics that headrace creates; if unset, the broker default",
        "whole number",
        low=1,
        high=32,
    )
    gateway: str = setting(
        "GATEWAY", "127.0.0.1:8640", "address the HTTP gateway listens on, host:port"
    )
    url: str | None = setting(
        "URL",
        None,
        "URL of the gateway that commands ask; if unset, the one of the state directory, else the"
        " one at HEADRACE_GATEWAY",
        "web address",
    )
    public_url: str | None = setting(
        "PUBLIC_URL",
        None,
        "URL of the gateway behind its TLS proxy; a gateway without tokens also accepts requests"
        " for its host; with tokens, browsers sign in there; unset: for loopback only",
    )
    console: str = setting(
        "CONSOLE", "on", "whether the gateway serves the console", choices=("on", "off")
    )
    console_dir: Path | None = setting(
        "CONSOLE_DIR",
        None,
        "folder of other built files of the console, read again when they change",
        "path",
    )
    console_session_h: int = number(
        "CONSOLE_SESSION_H", 12, "hours until a browser signs in again", 1, 168
    )
    console_views: Path | None = setting(
        "CONSOLE_VIEWS", None, "JSON file of the views that the console offers to all", "path"
    )
    mcp: bool = setting(
        "MCP",
        True,
        "whether the gateway serves the Model Context Protocol at /mcp",
        "true or false",
    )
    mcp_origins: str | None = setting(
        "MCP_ORIGINS",
        None,
        "origins, separated by commas, of further web pages that may ask /mcp",
    )
    mcp_poll_ms: int = number(
        "MCP_POLL_MS", 1000, "milliseconds until MCP clients poll for events again", 10, 60_000
    )
    mcp_scan: int = number(
        "MCP_SCAN", 10_000, "records that one poll for MCP events reads at most", 1, 1_000_000
    )
    mcp_max_result_bytes: int = number(
        "MCP_MAX_RESULT_BYTES", 262_144, "largest result of an MCP tool, in bytes", 4096, 1 << 24
    )
    mcp_simulations: int = number(
        "MCP_SIMULATIONS", 2, "scenarios that the MCP tool `simulate` runs at once", 0, 64
    )
    mcp_task_after_ms: int = number(
        "MCP_TASK_AFTER_MS",
        1000,
        "milliseconds after which an MCP client that knows tasks gets one instead of the outcome",
        0,
        60_000,
    )
    a2a: bool = setting(
        "A2A", True, "whether the gateway serves agents of Summit by A2A at /a2a", "true or false"
    )
    a2a_agents: str = setting(
        "A2A_AGENTS",
        "*",
        "agents of Summit that can be called by A2A, separated by commas; * stands for any"
        " characters",
        format=AGENT_PATTERNS,
    )
    a2a_root_agent: str | None = setting(
        "A2A_ROOT_AGENT",
        None,
        "agent whose card is at /.well-known/agent-card.json; if unset, the only one there is",
    )
    a2a_public_cards: bool = setting(
        "A2A_PUBLIC_CARDS",
        False,
        "whether the cards of agents are shown without a token, then without their schemas",
        "true or false",
    )
    a2a_keepalive_s: int = number(
        "A2A_KEEPALIVE_S", 3, "seconds between the comments in a stream of A2A", 1, 600
    )
    gateway_max_body_bytes: int = number(
        "GATEWAY_MAX_BODY_BYTES", 16_777_216, "largest request body, in bytes", 1024, 1 << 30
    )
    gateway_max_body_values: int = number(
        "GATEWAY_MAX_BODY_VALUES",
        500_000,
        "most JSON values and member names in the body of a request",
        1,
        100_000_000,
    )
    gateway_bodies_mib: int = number(
        "GATEWAY_BODIES_MIB",
        256,
        "MiB of bodies in memory at once, those of responses above 1 MiB too; each JSON value in a"
        " request counts for 100 bytes more",
        1,
        1 << 20,
    )
    gateway_max_requests: int = number(
        "GATEWAY_MAX_REQUESTS", 256, "requests handled at once, without streams", 1, 100_000
    )
    gateway_write_timeout_s: int = number(
        "GATEWAY_WRITE_TIMEOUT_S",
        30,
        "seconds in which a client must read 64 KiB of a response, or the rest of it",
        1,
        3600,
    )
    gateway_peer_requests: int = number(
        "GATEWAY_PEER_REQUESTS",
        64,
        "requests without a token of one address at once, where tokens are needed",
        1,
        100_000,
    )
    gateway_wait_s: int = number(
        "GATEWAY_WAIT_S",
        10,
        "seconds a query waits until the view has applied the record named by `after`",
        0,
        600,
    )
    gateway_max_connections: int = number(
        "GATEWAY_MAX_CONNECTIONS", 4096, "open connections to a gateway at once", 1, 1_000_000
    )
    gateway_max_streams: int = number(
        "GATEWAY_MAX_STREAMS", 2000, "clients that follow streams at once", 1, 1_000_000
    )
    gateway_principal_requests: int = number(
        "GATEWAY_PRINCIPAL_REQUESTS", 64, "requests of one principal at once", 1, 100_000
    )
    gateway_principal_streams: int = number(
        "GATEWAY_PRINCIPAL_STREAMS", 100, "streams of one principal at once", 1, 1_000_000
    )
    tokens: Path | None = setting(
        "TOKENS",
        None,
        "file of the bearer tokens that the gateway accepts; if unset, no token is"
        " required and it listens on loopback only",
        "path",
    )
    token: str | None = setting(
        "TOKEN", None, "bearer token that commands and clients send to a gateway", secret=True
    )
    mcp_bridge_token: str | None = setting(
        "MCP_BRIDGE_TOKEN",
        None,
        "bearer token that `summit register --from-mcp` sends to the address of an MCP server",
        secret=True,
        format=BEARER_TOKEN,
    )
    principal_key: str | None = setting(
        "PRINCIPAL_KEY",
        None,
        "keys, separated by commas, that sign the sender of a record; gateways and workers"
        " need the same; if unset, facts show `unauthenticated`",
        "keys",
        secret=True,
    )
    gateway_key: str | None = setting(
        "GATEWAY_KEY",
        None,
        "key, or NEW,OLD, that signs handles of MCP tasks and seals secrets of webhooks, one for"
        " all gateways; if unset, nothing is pushed, and each state directory has one for handles",
        secret=True,
        format=GATEWAY_KEYS,
    )
    mac_key: str | None = setting(
        "MAC_KEY",
        None,
        "key, or NEW,OLD, of the MACs on records that processors write; workers, gateways and"
        " commands need the same; if unset, records have none, and none is checked",
        secret=True,
        format=MAC_KEYS,
    )
    mac_since: str | None = setting(
        "MAC_SINCE",
        None,
        "time that `headrace topics sign` prints: older facts need no MAC",
        format=MAC_SINCE,
    )
    audit_key: Path | None = setting(
        "AUDIT_KEY",
        None,
        "file of the private key that `headrace audit write` signs with, for a"
        " transparency log also several, parted by commas",
        "path",
    )
    audit_public_key: Path | None = setting(
        "AUDIT_PUBLIC_KEY",
        None,
        "file of the public key that `headrace audit verify` checks checkpoints with",
        "path",
    )
    policy: Path | None = setting(
        "POLICY",
        None,
        "policy file, whose values of settings that decide count where no variable is set",
        "path",
    )
    tlog_policy: Path | None = setting(
        "TLOG_POLICY",
        None,
        "file of the policy that `headrace audit check` checks receipts by; if set, `headrace audit"
        " write` writes a transparency log, and gateways serve it",
        "path",
    )
    tlog_origin: str | None = setting(
        "TLOG_ORIGIN", None, "origin of the log that is written, if the policy lists several"
    )
    tlog_dir: Path | None = setting(
        "TLOG_DIR",
        None,
        "folder for the files of the log that is written; if unset, `tlog` in the state directory",
        "path",
    )
    tlog_open: bool = setting(
        "TLOG_OPEN",
        False,
        "whether a gateway serves the transparency log below /tlog/ without a token",
        "true or false",
    )
    tlog_witness_timeout_s: int = number(
        "TLOG_WITNESS_TIMEOUT_S", 10, "seconds that a request to a witness may take", 1, 600
    )
    tlog_witness_ca: Path | None = setting(
        "TLOG_WITNESS_CA", None, "file of authorities for witnesses; if unset, the system's", "path"
    )
    log_level: str = setting("LOG_LEVEL", "info", "lowest level that is logged", choices=LOG_LEVELS)
    log_format: str = setting(
        "LOG_FORMAT", "text", "format of log lines: text, or JSON objects", choices=LOG_FORMATS
    )
    metrics: str | None = setting(
        "METRICS",
        None,
        "address of /metrics, /healthz and /readyz of a worker, an exporter of spans or the audit"
        " writer, host:port; if unset, none",
    )
    crash_at: str = setting(
        "CRASH_AT",
        "",
        "NAME[:N], a point at which a worker or `audit write` kills itself, for crash tests",
    )
    block_cache_mib: int = number(
        "BLOCK_CACHE_MIB", 64, "RocksDB block cache of a process, in MiB", 1, 1 << 20
    )
    batch: int = number(
        "BATCH", 1000, "largest number of input records in one transaction", 1, 100_000
    )
    broker_port: int = number(
        "BROKER_PORT", 19640, "port of the local broker; if 0 or in use, a free one", 0, 65535
    )
    native: str = setting(
        "NATIVE",
        "on",
        "whether the compiled codec encodes and decodes records where it is installed, or Python",
        choices=("on", "off"),
    )
    view_set_aside: str = setting(
        "VIEW_SET_ASIDE",
        "",
        "positions, topic/partition/offset separated by commas, of records that no worker wrote:"
        " a view that stops at one for its unknown schema continues without it",
        format=POSITIONS,
    )
    sql_memory_mib: int = number(
        "SQL_MEMORY_MIB", 2048, "memory of a query of `headrace sql`, in MiB", 64, 1 << 20
    )
    sql_timeout_s: int = number(
        "SQL_TIMEOUT_S", 60, "longest time of a query of `headrace sql`, in seconds", 1, 86_400
    )
    max_record_bytes: int = number(
        "MAX_RECORD_BYTES",
        8_388_608,
        "largest record that is produced, in bytes",
        1024,
        1 << 30,
        True,
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
