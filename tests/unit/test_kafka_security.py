"""Settings of TLS and logins that make no sense together are refused before anything connects."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import SettingsError
from streams.settings import BY_FIELD, Settings
from streams.settings.kafka_security import VARIABLES

LOGIN = {"SASL_MECHANISM": "PLAIN", "SASL_USERNAME": "me", "SASL_PASSWORD": "hunter2"}


def security(**settings: str) -> dict[str, str]:
    return Settings().assign({f"SECURITY_{n}": text for n, text in settings.items()}).security()


def test_each_property_is_known_by_the_variable_that_sets_it() -> None:
    declared = {d.kafka: d.env for d in BY_FIELD.values() if d.kafka is not None}
    assert declared == VARIABLES


def test_a_whole_login_becomes_properties(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.touch()
    properties = security(PROTOCOL="SASL_SSL", SSL_CA_LOCATION=str(ca), **LOGIN)
    assert properties == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "hunter2",
        "ssl.ca.location": str(ca),
    }


@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT"])
@pytest.mark.parametrize("missing", LOGIN)
def test_a_login_is_whole(protocol: str, missing: str) -> None:
    login = {name: text for name, text in LOGIN.items() if name != missing}
    with pytest.raises(SettingsError, match=f"{protocol} needs HEADRACE_SECURITY_{missing} too"):
        security(PROTOCOL=protocol, **login)


@pytest.mark.parametrize(
    ("name", "protocol", "instead"),
    [
        ("SASL_PASSWORD", "PLAINTEXT", "SASL_SSL"),
        ("SASL_USERNAME", "SSL", "SASL_SSL"),
        ("SSL_KEY_PASSWORD", "PLAINTEXT", "SSL"),
        ("SSL_CA_LOCATION", "SASL_PLAINTEXT", "SSL"),
    ],
)
def test_what_would_be_ignored_is_refused(name: str, protocol: str, instead: str) -> None:
    with pytest.raises(SettingsError) as caught:
        security(PROTOCOL=protocol, **{name: "hunter2"})
    message = str(caught.value)
    assert f"HEADRACE_SECURITY_{name} has no effect" in message
    assert f"Set it to {instead}" in message
    assert "hunter2" not in message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="HEADRACE_SECURITY_SSL_CA_LOCATION: there is no file"):
        security(PROTOCOL="SSL", SSL_CA_LOCATION=str(tmp_path / "none"))
    with pytest.raises(SettingsError, match="HEADRACE_REGISTRY_SSL_KEY_LOCATION: there is no"):
        Settings(registry_ssl_key_location=tmp_path / "none").registry_tls()


def test_a_certificate_needs_its_key(tmp_path: Path) -> None:
    file = tmp_path / "client.pem"
    file.touch()
    with pytest.raises(SettingsError, match="HEADRACE_SECURITY_SSL_KEY_LOCATION too"):
        security(PROTOCOL="SSL", SSL_CERTIFICATE_LOCATION=str(file))
