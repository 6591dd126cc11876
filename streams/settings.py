"""Every setting, declared once, and the only place where the environment is read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from streams.setting_values import Declaration, checked, known, parse

PREFIX = "HEADRACE_"
LOG_LEVELS = ("debug", "info", "warning", "error")
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
DECAY_MODES = ("late", "always", "flag")
PAST_DEADLINE = ("ignore", "timeout")
LEARNING = ("apply", "observe")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def _setting(env: str, default: Any, meaning: str, kind: str = "text", **more: Any) -> Any:
    declaration = Declaration(PREFIX + env, kind, default, meaning, **more)
    shown = not declaration.secret
    return field(default=default, repr=shown, metadata={"declaration": declaration})


def _number(env: str, default: int, meaning: str, low: int, high: int, work: bool = False) -> Any:
    return _setting(env, default, meaning, "whole number", low=low, high=high, work=work)


def _security(env: str, kafka: str, meaning: str, **more: Any) -> Any:
    return _setting(f"SECURITY_{env}", None, meaning, kafka=kafka, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one process.  None stands for unset."""

    bootstrap: str | None = _setting(
        "BOOTSTRAP", None, "Kafka to use, host:port[,host:port…]; unset, a local one is started"
    )
    state_dir: Path = _setting(
        "STATE_DIR",
        Path(".headrace"),
        "where RocksDB, views and the local broker keep data",
        "path",
    )
    prefix: str = _setting("PREFIX", "", "put before all topic, group and transactional names")
    partitions: int = _number(
        "PARTITIONS", 4, "partitions of every input topic, fixed once they are created", 1, 256
    )
    gateway: str = _setting("GATEWAY", "127.0.0.1:8640", "where the HTTP gateway listens")
    gateway_max_body_bytes: int = _number(
        "GATEWAY_MAX_BODY_BYTES", 16_777_216, "largest body of a request", 1024, 1 << 30
    )
    gateway_max_requests: int = _number(
        "GATEWAY_MAX_REQUESTS", 256, "requests answered at once, streams left out", 1, 100_000
    )
    gateway_wait_s: int = _number(
        "GATEWAY_WAIT_S", 10, "seconds that a query waits for the record that it is to see", 0, 600
    )
    log_level: str = _setting("LOG_LEVEL", "info", "least level that is logged", choices=LOG_LEVELS)
    batch: int = _number("BATCH", 1000, "most records of one transaction", 1, 100_000)
    broker_port: int = _number(
        "BROKER_PORT", 19640, "port of the local broker; a free one if it is taken", 1024, 65535
    )
    max_record_bytes: int = _number(
        "MAX_RECORD_BYTES", 8_388_608, "largest record that is produced", 1024, 1 << 30, True
    )
    apc_max_packet_bytes: int = _number(
        "APC_MAX_PACKET_BYTES", 524_288, "largest APC packet, as canonical JSON", 1, 1 << 24, True
    )
    apc_require_anti_drift: bool = _setting(
        "APC_REQUIRE_ANTI_DRIFT",
        False,
        "refuse APC packets without anti-drift checks where they are due",
        "true or false",
        work=True,
    )
    apc_decay_min_samples: int = _number(
        "APC_DECAY_MIN_SAMPLES", 5, "transfers before a protocol can decay", 1, 1_000_000, True
    )
    apc_decay_min_score: Decimal = _setting(
        "APC_DECAY_MIN_SCORE",
        Decimal("0.35"),
        "effectiveness below which a protocol has decayed",
        "decimal",
        high=1,
        work=True,
    )
    apc_decay_max_drift: Decimal = _setting(
        "APC_DECAY_MAX_DRIFT",
        Decimal("0.75"),
        "average drift risk above which a protocol has decayed",
        "decimal",
        high=1,
        work=True,
    )
    apc_decay_mode: str = _setting(
        "APC_DECAY_MODE",
        "late",
        "when transfers of a decayed protocol are refused: from generation 21 on, always, or never",
        choices=DECAY_MODES,
        work=True,
    )
    apc_gate_min_samples: int = _number(
        "APC_GATE_MIN_SAMPLES",
        3,
        "transfers before a protocol can fail its gate",
        1,
        1_000_000,
        True,
    )
    apc_gate_min_score: Decimal = _setting(
        "APC_GATE_MIN_SCORE",
        Decimal("0.50"),
        "effectiveness below which an arbitration blocks a transfer",
        "decimal",
        high=1,
        work=True,
    )
    apc_arbitration_top_k: int = _number(
        "APC_ARBITRATION_TOP_K", 1, "transfers that an arbitration selects", 0, 1000, True
    )
    saop_hold_turns: int = _number(
        "SAOP_HOLD_TURNS", 64, "turns of a task that wait for those before them", 1, 10_000, True
    )
    saop_hold_s: int = _number("SAOP_HOLD_S", 60, "seconds for which a turn waits", 1, 86_400, True)
    saop_max_ahead: int = _number(
        "SAOP_MAX_AHEAD", 1000, "how far ahead of the turn due a turn may be", 1, 1_000_000, True
    )
    saop_confidence_window: int = _number(
        "SAOP_CONFIDENCE_WINDOW", 5, "turns over which confidence has its slope", 2, 1000, True
    )
    saop_confidence_slope: Decimal = _setting(
        "SAOP_CONFIDENCE_SLOPE",
        Decimal("-0.05"),
        "slope per turn, at or below which falling confidence counts",
        "decimal",
        low=-1,
        high=1,
        work=True,
    )
    saop_confidence_ceiling: Decimal = _setting(
        "SAOP_CONFIDENCE_CEILING",
        Decimal("0.6"),
        "confidence at or below which its slope counts",
        "decimal",
        high=1,
        work=True,
    )
    saop_confidence_declines: int = _number(
        "SAOP_CONFIDENCE_DECLINES", 3, "falls in a row that count as a drop", 1, 1000, True
    )
    saop_confidence_drop: Decimal = _setting(
        "SAOP_CONFIDENCE_DROP",
        Decimal("0.25"),
        "by how much confidence falls in a drop",
        "decimal",
        high=1,
        work=True,
    )
    saop_repeats: int = _number(
        "SAOP_REPEATS", 3, "equal observations in a row that are escalated", 2, 1000, True
    )
    saop_failures: int = _number(
        "SAOP_FAILURES", 5, "failures of a task that are escalated", 1, 1_000_000, True
    )
    saop_rewind_lapse_s: int = _number(
        "SAOP_REWIND_LAPSE_S", 600, "seconds in which a rewind must be confirmed", 1, 86_400, True
    )
    rtes_profile: str = _setting(
        "RTES_PROFILE", "devs", "task profile of tasks that no prefix names", work=True
    )
    rtes_profiles: str = _setting(
        "RTES_PROFILES", "", "task profiles by prefix of the task id: prefix=profile,…", work=True
    )
    rtes_dedupe_ids: int = _number(
        "RTES_DEDUPE_IDS", 10_000, "event ids remembered per session", 1, 10_000_000, True
    )
    rtes_dedupe_s: int = _number(
        "RTES_DEDUPE_S", 86_400, "seconds for which event ids are remembered", 1, 315_360_000, True
    )
    rtes_heartbeat_s: int = _number(
        "RTES_HEARTBEAT_S", 15, "seconds without output after which a live tail says so", 1, 3600
    )
    rtes_tail_records: int = _number(
        "RTES_TAIL_RECORDS",
        1000,
        "records that may wait for one client of the live tail",
        1,
        1 << 20,
    )
    rtes_tail_bytes: int = _number(
        "RTES_TAIL_BYTES",
        4_194_304,
        "bytes that may wait for one client of the live tail",
        1024,
        1 << 30,
    )
    rtes_raw_retention_h: int = _number(
        "RTES_RAW_RETENTION_H", 24, "hours for which rtes.raw is kept, set at its creation", 1, 8784
    )
    rtes_mask_arguments: bool = _setting(
        "RTES_MASK_ARGUMENTS",
        True,
        "mask secrets in the arguments of tool calls",
        "true or false",
        work=True,
    )
    mask_key: str | None = _setting(
        "MASK_KEY",
        None,
        "key of the fingerprints in replacements; unset, they have none",
        secret=True,
        work=True,
    )
    rtes_pem_lines: int = _number(
        "RTES_PEM_LINES", 400, "pulses after which a private key block ends", 1, 1_000_000, True
    )
    rtes_pem_s: int = _number(
        "RTES_PEM_S", 600, "seconds after which a private key block ends", 1, 86_400, True
    )
    sap_constitution: Path | None = _setting(
        "SAP_CONSTITUTION",
        None,
        "file of principles, constraints, essence and denylist; unset, the one shipped",
        "path",
        work=True,
    )
    sap_authorization: Path | None = _setting(
        "SAP_AUTHORIZATION",
        None,
        "file that says who may issue tasks for what; unset, everyone may",
        "path",
        work=True,
    )
    sap_rate: Decimal = _setting(
        "SAP_RATE",
        Decimal(0),
        "tasks per second of one issuer; 0 is no limit",
        "decimal",
        high=1_000_000,
        work=True,
    )
    sap_burst: Decimal | None = _setting(
        "SAP_BURST",
        None,
        "tasks that an issuer may send at once; unset, as many as in a second, at least one",
        "decimal",
        high=1_000_000_000,
        work=True,
    )
    sap_past_deadline: str = _setting(
        "SAP_PAST_DEADLINE",
        "ignore",
        "what becomes of a task that is sent after its deadline",
        choices=PAST_DEADLINE,
        work=True,
    )
    sap_single_flight: bool = _setting(
        "SAP_SINGLE_FLIGHT",
        True,
        "let one task compute what others ask for at the same time",
        "true or false",
        work=True,
    )
    sap_flight_wait_s: int = _number(
        "SAP_FLIGHT_WAIT_S",
        30,
        "seconds for which a task waits for another's answer",
        0,
        86_400,
        True,
    )
    sap_flight_lease_s: int = _number(
        "SAP_FLIGHT_LEASE_S",
        300,
        "seconds after which a task that computes is given up",
        1,
        86_400,
        True,
    )
    sap_flight_max_waiters: int = _number(
        "SAP_FLIGHT_MAX_WAITERS", 100, "tasks that wait for one answer at most", 0, 100_000, True
    )
    sap_cache_scan: int = _number(
        "SAP_CACHE_SCAN", 5, "newest versions of an answer that are looked at", 1, 1000, True
    )
    sap_producer_binding: bool = _setting(
        "SAP_PRODUCER_BINDING",
        True,
        "only the agent that reported first may report on",
        "true or false",
        work=True,
    )
    sap_learning: str = _setting(
        "SAP_LEARNING",
        "apply",
        "what becomes of what is learned: it is applied, or published only",
        choices=LEARNING,
        work=True,
    )
    sap_max_wait_s: int = _number(
        "SAP_MAX_WAIT_S", 60, "seconds for which `Prefer: wait` may hold a request", 0, 600
    )
    security_protocol: str | None = _security(
        "PROTOCOL", "security.protocol", "how to talk to Kafka", choices=PROTOCOLS
    )
    security_sasl_mechanism: str | None = _security(
        "SASL_MECHANISM", "sasl.mechanism", "how to log in to Kafka", choices=MECHANISMS
    )
    security_sasl_username: str | None = _security(
        "SASL_USERNAME", "sasl.username", "user name at Kafka"
    )
    security_sasl_password: str | None = _security(
        "SASL_PASSWORD", "sasl.password", "password at Kafka", secret=True
    )
    security_ssl_ca_location: str | None = _security(
        "SSL_CA_LOCATION", "ssl.ca.location", "file of the certificates that vouch for Kafka"
    )
    security_ssl_certificate_location: str | None = _security(
        "SSL_CERTIFICATE_LOCATION", "ssl.certificate.location", "file of the client's certificate"
    )
    security_ssl_key_location: str | None = _security(
        "SSL_KEY_LOCATION", "ssl.key.location", "file of the client's private key"
    )
    security_ssl_key_password: str | None = _security(
        "SSL_KEY_PASSWORD", "ssl.key.password", "password of that key", secret=True
    )

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> Self:
        """From the environment (default: this process's), then field values by name.

        An empty variable counts as unset.  Raises SettingsError for an unknown HEADRACE_ variable,
        for a value that is not allowed, and for an unknown override.
        """
        given = os.environ if environ is None else environ
        texts = {name: text for name, text in given.items() if name.startswith(PREFIX)}
        known(overrides, BY_FIELD)
        return replace(
            cls().assign(texts), **{k: checked(BY_FIELD[k], v) for k, v in overrides.items()}
        )

    def assign(self, texts: Mapping[str, str]) -> Self:
        """These settings with others given as text, by variable, with or without its prefix."""
        named = {name if name.startswith(PREFIX) else PREFIX + name: t for name, t in texts.items()}
        known(named, BY_ENV)
        changes = {BY_ENV[name]: text for name, text in named.items() if text != ""}
        return replace(
            self,
            **{k: checked(BY_FIELD[k], parse(BY_FIELD[k], t)) for k, t in changes.items()},
        )

    def as_work(self) -> Mapping[str, Any]:
        """What processors see: values by name without HEADRACE_."""
        work = (key for key, declared in BY_FIELD.items() if declared.work)
        return MappingProxyType(
            {BY_FIELD[key].env.removeprefix(PREFIX): getattr(self, key) for key in work}
        )

    def security(self) -> dict[str, str]:
        """The Kafka clients' properties of SASL and TLS (librdkafka's names); empty if none set."""
        return {
            declared.kafka: value
            for key, declared in BY_FIELD.items()
            if declared.kafka and (value := getattr(self, key)) is not None
        }


def _declared(of: Field[Any]) -> Declaration:
    declaration: Declaration = of.metadata["declaration"]
    return declaration


BY_FIELD: Mapping[str, Declaration] = {of.name: _declared(of) for of in fields(Settings)}
BY_ENV: Mapping[str, str] = {declared.env: key for key, declared in BY_FIELD.items()}


def environment_without(prefix: str) -> dict[str, str]:
    """This process's environment for a child of it, less the variables of this prefix."""
    return {name: text for name, text in os.environ.items() if not name.startswith(prefix)}
