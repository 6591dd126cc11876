"""The settings of connections to Kafka and to the schema registry."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streams.settings.kafka_security import MECHANISMS, PROTOCOLS, check_files, check_security
from streams.settings.service import ServiceSettings, declarations, setting
from streams.settings.values import Declaration


def _security(env: str, kafka: str, meaning: str, **options: Any) -> Any:
    return setting(f"SECURITY_{env}", None, meaning, kafka=kafka, **options)


_REGISTRY_URL = Declaration(
    "SCHEMA_REGISTRY_URL",
    "web address",
    None,
    "schema registry that assigns schema ids; if unset, those of the committed catalogue",
    secret=True,  # it may hold a password
)


@dataclass(frozen=True, kw_only=True)
class ConnectionSettings(ServiceSettings):
    """The addresses of Kafka and the schema registry, and a process's credentials for them."""

    schema_registry_url: str | None = field(
        default=None, repr=False, metadata={"declaration": _REGISTRY_URL}
    )
    registry_ssl_ca_location: Path | None = setting(
        "REGISTRY_SSL_CA_LOCATION",
        None,
        "CA certificates file for the schema registry; if unset, the system's",
        "path",
    )
    registry_ssl_certificate_location: Path | None = setting(
        "REGISTRY_SSL_CERTIFICATE_LOCATION",
        None,
        "client certificate file for the schema registry, if it requires one",
        "path",
    )
    registry_ssl_key_location: Path | None = setting(
        "REGISTRY_SSL_KEY_LOCATION", None, "private key file of that client certificate", "path"
    )
    security_protocol: str | None = _security(
        "PROTOCOL",
        "security.protocol",
        "security protocol of the connection to Kafka",
        choices=PROTOCOLS,
    )
    security_sasl_mechanism: str | None = _security(
        "SASL_MECHANISM", "sasl.mechanism", "SASL mechanism for Kafka", choices=MECHANISMS
    )
    security_sasl_username: str | None = _security(
        "SASL_USERNAME", "sasl.username", "SASL user name for Kafka"
    )
    security_sasl_password: str | None = _security(
        "SASL_PASSWORD", "sasl.password", "SASL password for Kafka", secret=True
    )
    security_ssl_ca_location: str | None = _security(
        "SSL_CA_LOCATION", "ssl.ca.location", "CA certificates file for Kafka"
    )
    security_ssl_certificate_location: str | None = _security(
        "SSL_CERTIFICATE_LOCATION", "ssl.certificate.location", "client certificate file for Kafka"
    )
    security_ssl_key_location: str | None = _security(
        "SSL_KEY_LOCATION", "ssl.key.location", "private key file of that client certificate"
    )
    security_ssl_key_password: str | None = _security(
        "SSL_KEY_PASSWORD", "ssl.key.password", "password of that private key", secret=True
    )

    def security(self) -> dict[str, str]:
        """Return the SASL and TLS properties of the Kafka clients, by librdkafka's names.

        They are empty if none is set.  Raises SettingsError when they are inconsistent.
        """
        return check_security(
            {
                declaration.kafka: value
                for key, declaration in declarations(type(self)).items()
                if declaration.kafka and (value := getattr(self, key)) is not None
            }
        )

    def registry_tls(self) -> dict[str, str]:
        """Return the TLS properties of the schema registry's client.  Raises SettingsError."""
        return check_files(
            {
                "ssl.ca.location": self.registry_ssl_ca_location,
                "ssl.certificate.location": self.registry_ssl_certificate_location,
                "ssl.key.location": self.registry_ssl_key_location,
            }
        )
