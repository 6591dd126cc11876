"""Every setting, declared once, and the only place where the environment is read."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from streams.errors import SettingsError

PREFIX = "HEADRACE_"
LOG_LEVELS = ("debug", "info", "warning", "error")
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
DECAY_MODES = ("late", "always", "flag")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class Declaration(NamedTuple):
    """What is known of one setting.

    env: the variable.  kind: `text`, `whole number`, `decimal`, `true or false` or `path`.
    low, high: bounds of a number, both allowed.  choices: the only texts allowed, if any.
    kafka: the property of the Kafka clients that it sets.  secret: never shown.
    work: part of what the processors see.
    """

    env: str
    kind: str
    default: Any
    meaning: str
    low: int = 0
    high: int = 2**63 - 1
    choices: tuple[str, ...] = ()
    kafka: str | None = None
    secret: bool = False
    work: bool = False


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
        _known(overrides, BY_FIELD)
        return replace(cls().assign(texts), **{k: _checked(k, v) for k, v in overrides.items()})

    def assign(self, texts: Mapping[str, str]) -> Self:
        """These settings with others given as text, by variable, with or without its prefix."""
        named = {name if name.startswith(PREFIX) else PREFIX + name: t for name, t in texts.items()}
        _known(named, BY_ENV)
        changes = {BY_ENV[name]: text for name, text in named.items() if text != ""}
        return replace(
            self, **{key: _checked(key, _parse(BY_FIELD[key], t)) for key, t in changes.items()}
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


def _known(given: Iterable[str], names: Mapping[str, object]) -> None:
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
            raise SettingsError(f"{name} is not a setting; the nearest is {near[0]}")


def _parse(declared: Declaration, text: str) -> Any:
    match declared.kind:
        case "whole number":
            return int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else text
        case "decimal":
            return Decimal(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,18})?", text) else text
        case "true or false":
            return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
        case "path":
            return Path(text)
    return text


def _checked(key: str, value: Any) -> Any:
    declared = BY_FIELD[key]
    if value is None and declared.default is None:
        return None
    shown = "its value" if declared.secret else repr(value)
    match declared.kind:
        case "whole number":
            if type(value) is not int or not declared.low <= value <= declared.high:
                bounds = f"{declared.low} to {declared.high}"
                raise SettingsError(f"{declared.env} is a whole number, {bounds}, not {shown}")
        case "decimal":
            known = type(value) is Decimal and value.is_finite()
            if not known or not declared.low <= value <= declared.high:
                bounds = f"{declared.low} to {declared.high}"
                raise SettingsError(f"{declared.env} is a decimal number, {bounds}, not {shown}")
        case "true or false":
            if type(value) is not bool:
                raise SettingsError(f"{declared.env} is true or false, not {shown}")
        case "path":
            return Path(value)
        case _ if type(value) is not str:
            raise SettingsError(f"{declared.env} is a text, not {shown}")
    if declared.choices and value not in declared.choices:
        choices = ", ".join(declared.choices)
        raise SettingsError(f"{declared.env} is one of {choices}, not {shown}")
    return value
