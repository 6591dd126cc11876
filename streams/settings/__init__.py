"""Every setting, declared once, and the only place where the environment is read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from streams.settings.kafka_security import MECHANISMS, PROTOCOLS, checked_files
from streams.settings.kafka_security import checked as checked_security
from streams.settings.service import PREFIX as PREFIX
from streams.settings.service import setting
from streams.settings.summit import SummitSettings
from streams.settings.values import Declaration, checked, known, parse


def _security(env: str, kafka: str, meaning: str, **more: Any) -> Any:
    return setting(f"SECURITY_{env}", None, meaning, kafka=kafka, **more)


_REGISTRY_URL = Declaration(
    "SCHEMA_REGISTRY_URL",
    "web address",
    None,
    "schema registry that schema ids come from; unset, those of the committed catalogue",
    secret=True,  # it may hold a password
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(SummitSettings):
    """The settings of one process.  None stands for unset."""

    schema_registry_url: str | None = field(
        default=None, repr=False, metadata={"declaration": _REGISTRY_URL}
    )
    registry_ssl_ca_location: Path | None = setting(
        "REGISTRY_SSL_CA_LOCATION",
        None,
        "file of the certificates that vouch for the schema registry; unset, the system's",
        "path",
    )
    registry_ssl_certificate_location: Path | None = setting(
        "REGISTRY_SSL_CERTIFICATE_LOCATION",
        None,
        "file of the client's certificate for the schema registry, if it asks for one",
        "path",
    )
    registry_ssl_key_location: Path | None = setting(
        "REGISTRY_SSL_KEY_LOCATION", None, "file of the private key of that certificate", "path"
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
        texts = {name: text for name, text in given.items() if _whole(name)}
        known(overrides, BY_FIELD)
        return replace(
            cls().assign(texts), **{k: checked(BY_FIELD[k], v) for k, v in overrides.items()}
        )

    def assign(self, texts: Mapping[str, str]) -> Self:
        """These settings with others given as text, by variable, with or without its prefix."""
        named = {name if _whole(name) else PREFIX + name: t for name, t in texts.items()}
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
        """The Kafka clients' properties of SASL and TLS (librdkafka's names); empty if none set.

        Raises SettingsError when they do not make sense together.
        """
        return checked_security(
            {
                declared.kafka: value
                for key, declared in BY_FIELD.items()
                if declared.kafka and (value := getattr(self, key)) is not None
            }
        )

    def registry_tls(self) -> dict[str, str]:
        """The same of the schema registry's client.  Raises SettingsError."""
        return checked_files(
            {
                "ssl.ca.location": self.registry_ssl_ca_location,
                "ssl.certificate.location": self.registry_ssl_certificate_location,
                "ssl.key.location": self.registry_ssl_key_location,
            }
        )


def _whole(name: str) -> bool:
    return name.startswith(PREFIX) or name in BY_ENV


def _declared(of: Field[Any]) -> Declaration:
    declaration: Declaration = of.metadata["declaration"]
    return declaration


BY_FIELD: Mapping[str, Declaration] = {of.name: _declared(of) for of in fields(Settings)}
BY_ENV: Mapping[str, str] = {declared.env: key for key, declared in BY_FIELD.items()}


def environment_without(prefix: str) -> dict[str, str]:
    """This process's environment for a child of it, less the variables of this prefix."""
    return {name: text for name, text in os.environ.items() if not name.startswith(prefix)}
