"""Checks and conversions of the SASL and TLS settings."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streams.errors import SettingsError

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_VARIABLE = "HEADRACE_SECURITY_"
VARIABLES = {
    "security.protocol": f"{_VARIABLE}PROTOCOL",
    "sasl.mechanism": f"{_VARIABLE}SASL_MECHANISM",
    "sasl.username": f"{_VARIABLE}SASL_USERNAME",
    "sasl.password": f"{_VARIABLE}SASL_PASSWORD",
    "ssl.ca.location": f"{_VARIABLE}SSL_CA_LOCATION",
    "ssl.certificate.location": f"{_VARIABLE}SSL_CERTIFICATE_LOCATION",
    "ssl.key.location": f"{_VARIABLE}SSL_KEY_LOCATION",
    "ssl.key.password": f"{_VARIABLE}SSL_KEY_PASSWORD",
}
"""Settings, by the property of the Kafka clients that they set."""


def check_security(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the same properties, if they are complete and all have an effect.

    Raises SettingsError otherwise.  An ignored property would leave a connection less secure than
    its settings suggest.
    """
    protocol = properties.get("security.protocol", "PLAINTEXT")
    for name in properties:
        part = name.partition(".")[0].upper()
        if part in ("SASL", "SSL") and part not in protocol:
            raise SettingsError(
                f"{VARIABLES[name]} has no effect while {VARIABLES['security.protocol']} is"
                f" {protocol}",
                advice=f"Set it to {part if part == 'SSL' else 'SASL_SSL'}, or unset the other.",
            )
        if name.endswith(".location") and not Path(properties[name]).is_file():
            raise SettingsError(f"{VARIABLES[name]}: there is no file {properties[name]}")
    if "SASL" in protocol:
        _require(properties, ("sasl.mechanism", "sasl.username", "sasl.password"), protocol)
    if "ssl.key.location" in properties or "ssl.certificate.location" in properties:
        _require(properties, ("ssl.key.location", "ssl.certificate.location"), protocol)
    return dict(properties)


def for_aiokafka(properties: Mapping[str, str]) -> dict[str, Any]:
    """Translate librdkafka's properties to aiokafka's arguments."""
    if not properties:
        return {}
    return {
        "security_protocol": properties.get("security.protocol", "PLAINTEXT"),
        "sasl_mechanism": properties.get("sasl.mechanism", "PLAIN"),
        "sasl_plain_username": properties.get("sasl.username"),
        "sasl_plain_password": properties.get("sasl.password"),
        "ssl_context": tls_context(properties),
    }


def tls_context(properties: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return the TLS context of the properties for clients in Python; None without TLS."""
    if "SSL" not in properties.get("security.protocol", ""):
        return None
    context = ssl.create_default_context(cafile=properties.get("ssl.ca.location"))
    if "ssl.certificate.location" in properties:
        context.load_cert_chain(
            properties["ssl.certificate.location"],
            properties["ssl.key.location"],
            properties.get("ssl.key.password"),
        )
    return context


def check_files(properties: Mapping[str, Path | None]) -> dict[str, str]:
    """Return the files that are set for the schema registry's client.  Raises SettingsError."""
    files = {name: path for name, path in properties.items() if path is not None}
    for name, path in files.items():
        if not path.is_file():
            variable = f"HEADRACE_REGISTRY_{name.upper().replace('.', '_')}"
            raise SettingsError(f"{variable}: there is no file {path}")
    return {name: str(path) for name, path in files.items()}


def _require(properties: Mapping[str, str], names: tuple[str, ...], protocol: str) -> None:
    missing = [VARIABLES[name] for name in names if name not in properties]
    if missing:
        raise SettingsError(f"{protocol} needs {' and '.join(missing)} too")
