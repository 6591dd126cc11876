from __future__ import annotations

import sys
from dataclasses import fields
from decimal import Decimal
from importlib import import_module
from inspect import get_annotations
from pathlib import Path
from subprocess import run

import pytest

import streams.settings
from streams.errors import SettingsError
from streams.protocols.apc.settings import ApcSettings
from streams.protocols.asap.settings import AsapSettings
from streams.protocols.commands import COMMANDS
from streams.protocols.otel.settings import OtelSettings
from streams.protocols.saop.settings import SaopSettings
from streams.protocols.sap.settings import SapSettings
from streams.protocols.summit.settings import SummitSettings
from streams.settings import BY_ENV, BY_FIELD, PREFIX, Settings
from streams.settings.connection import ConnectionSettings
from streams.settings.governance import GovernanceSettings
from streams.settings.masking import MaskingSettings
from streams.settings.push import PushSettings
from streams.settings.service import ServiceSettings
from topology import topics

KINDS = {
    "text",
    "whole number",
    "decimal",
    "true or false",
    "path",
    "agent URN",
    "list of critics",
    "list of principals",
    "list of tables",
    "set of words",
    "web address",
    "keys",
}

PARTS: tuple[type[ServiceSettings], ...] = (
    ServiceSettings,
    ApcSettings,
    SaopSettings,
    MaskingSettings,
    SapSettings,
    AsapSettings,
    SummitSettings,
    OtelSettings,
    GovernanceSettings,
    PushSettings,
    ConnectionSettings,
)
"""In the order of the documents."""


def test_settings_are_those_of_the_service_and_of_each_protocol_each_declared_once() -> None:
    declared = [name for part in PARTS for name in get_annotations(part)]
    assert declared == [of.name for of in fields(Settings)] == list(BY_FIELD)
    assert len(declared) == len(set(declared))
    assert not get_annotations(Settings)


def test_every_protocol_has_its_settings_in_those_of_a_process_under_its_own_names() -> None:
    prefixes = {"saop": ("saop_", "rtes_")}
    for side in COMMANDS:
        module = import_module(f"streams.protocols.{side.name}.settings")
        settings_class = getattr(module, f"{side.name.capitalize()}Settings")
        assert settings_class in Settings.__bases__
        for name in get_annotations(settings_class):
            assert name.startswith(prefixes.get(side.name, f"{side.name}_"))


@pytest.mark.parametrize("name", [f"protocols.{side.name}" for side in COMMANDS])
def test_the_settings_of_a_protocol_load_no_others(name: str) -> None:
    program = f"import sys, streams.{name}.settings as own; print(*sys.modules)"
    loaded = run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    protocols = {part for part in loaded.stdout.split() if part.startswith("streams.protocols.")}
    assert protocols == {f"streams.{name}", f"streams.{name}.settings"}
    assert "streams.settings.composed" not in loaded.stdout


def test_the_settings_of_a_process_are_those_of_every_part() -> None:
    settings = Settings()
    for part in PARTS:
        assert part.of(settings) is settings
    with pytest.raises(TypeError, match="AsapSettings is no ApcSettings"):
        ApcSettings.of(AsapSettings())


def test_the_package_has_no_other_names() -> None:
    name = "APC"
    with pytest.raises(AttributeError, match="no attribute 'APC'"):
        getattr(streams.settings, name)


def test_a_retention_is_that_of_a_declared_topic() -> None:
    hours = Settings(rtes_raw_retention_h=7, otel_spans_retention_h=9).retention_h()
    assert hours == {"rtes.raw": 7, "otel.spans": 9}
    assert set(hours) <= {topic.name for topic in topics.ALL}


def test_an_empty_environment_gives_the_declared_defaults() -> None:
    settings = Settings.load({})
    assert settings == Settings()
    assert settings.bootstrap is None
    assert settings.state_dir == Path(".headrace")
    assert settings.partitions == 4


REGISTRY = "schema_registry_url"
"""The one that other programs know by the same name, and so without the prefix."""


def test_the_registry_has_the_variable_that_others_know_it_by() -> None:
    url = "https://me:pw@registry.example:8081/apis"
    settings = Settings.load({"SCHEMA_REGISTRY_URL": url})
    assert settings.schema_registry_url == url
    assert "pw" not in repr(settings)
    assert Settings().assign({"SCHEMA_REGISTRY_URL": url}) == settings
    assert Settings.load({"SCHEMA_REGISTRY_URL": ""}).schema_registry_url is None
    for other in ("registry:8081", "ftp://registry", "http://", "http:// a"):
        with pytest.raises(SettingsError, match="begins with http") as refused:
            Settings.load({"SCHEMA_REGISTRY_URL": other})
        assert other not in str(refused.value).replace("http://", "http:").replace("https://", "")


def test_every_default_is_allowed_by_its_own_declaration() -> None:
    defaults = {of.name: getattr(Settings(), of.name) for of in fields(Settings)}
    assert Settings.load({}, **defaults) == Settings()


def test_every_setting_is_declared_with_a_variable_of_its_own_name_and_a_meaning() -> None:
    for key, declared in BY_FIELD.items():
        assert declared.env == (key if key == REGISTRY else PREFIX + key).upper()
        assert declared.meaning
        assert declared.kind in KINDS
    assert len(BY_ENV) == len(BY_FIELD)


def test_variables_are_read_with_their_types() -> None:
    settings = Settings.load(
        {
            "HEADRACE_BOOTSTRAP": "kafka:9092",
            "HEADRACE_STATE_DIR": "/var/lib/headrace",
            "HEADRACE_PARTITIONS": "12",
            "HEADRACE_APC_REQUIRE_ANTI_DRIFT": "True",
            "PATH": "/usr/bin",
        }
    )
    assert settings.bootstrap == "kafka:9092"
    assert settings.state_dir == Path("/var/lib/headrace")
    assert settings.partitions == 12
    assert settings.apc_require_anti_drift is True


def test_an_empty_variable_counts_as_unset() -> None:
    assert Settings.load({"HEADRACE_BOOTSTRAP": "", "HEADRACE_PARTITIONS": ""}) == Settings()


def test_the_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_PREFIX", "acme.")
    assert Settings.load().prefix == "acme."


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("HEADRACE_STATEDIR", "HEADRACE_STATE_DIR"),
        ("HEADRACE_PARTITION", "HEADRACE_PARTITIONS"),
        ("HEADRACE_SECURITY_SASL_USER", "HEADRACE_SECURITY_SASL_USERNAME"),
        ("HEADRACE_APC_MAX_BYTES", "HEADRACE_APC_MAX_PACKET_BYTES"),
    ],
)
def test_an_unknown_variable_names_the_nearest_one(name: str, nearest: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load({name: "1"})
    assert name in str(caught.value)
    assert f"nearest is {nearest}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ASAP_SERVICE_URN", "headrace"),
        ("ASAP_SERVICE_URN", "urn:asap:agent:"),
        ("ASAP_RECIPIENT_CHECK", "sometimes"),
        ("ASAP_MAX_DEPTH", "-1"),
        ("PARTITIONS", "0"),
        ("PARTITIONS", "257"),
        ("PARTITIONS", "four"),
        ("PARTITIONS", "4.0"),
        ("PARTITIONS", "-1"),
        ("PARTITIONS", "٤"),
        ("PARTITIONS", "9" * 5000),
        ("BROKER_PORT", "65536"),
        ("APC_REQUIRE_ANTI_DRIFT", "yes"),
        ("LOG_LEVEL", "loud"),
        ("APC_DECAY_MIN_SCORE", "1.01"),
        ("APC_DECAY_MIN_SCORE", "-0.1"),
        ("APC_DECAY_MAX_DRIFT", "NaN"),
        ("APC_GATE_MIN_SCORE", "1e-1"),
        ("APC_GATE_MIN_SCORE", "half"),
        ("APC_DECAY_MODE", "never"),
        ("SECURITY_PROTOCOL", "sasl_ssl"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_by_name(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match=f"HEADRACE_{name} is "):
        Settings.load({f"HEADRACE_{name}": text})


def test_a_text_without_its_format_is_told_what_it_must_be() -> None:
    with pytest.raises(SettingsError, match="SERVICE_URN is an agent URN, not 'headrace'"):
        Settings.load({"HEADRACE_ASAP_SERVICE_URN": "headrace"})


def test_bounds_themselves_are_allowed() -> None:
    for key, declared in BY_FIELD.items():
        if declared.kind == "whole number":
            for bound in (declared.low, declared.high):
                assert getattr(Settings.load({declared.env: str(bound)}), key) == bound


def test_overrides_are_field_values_and_win_over_the_environment() -> None:
    settings = Settings.load({"HEADRACE_PARTITIONS": "2"}, partitions=8, state_dir="there")
    assert settings.partitions == 8
    assert settings.state_dir == Path("there")


def test_a_decimal_is_taken_as_it_is_spelled() -> None:
    settings = Settings.load({"HEADRACE_APC_GATE_MIN_SCORE": "0.1"})
    assert settings.apc_gate_min_score == Decimal("0.1")
    assert settings.as_work()["APC_DECAY_MIN_SCORE"] == Decimal("0.35")


def test_a_decimal_may_be_negative_where_that_is_allowed() -> None:
    settings = Settings.load({"HEADRACE_SAOP_CONFIDENCE_SLOPE": "-0.5"})
    assert settings.saop_confidence_slope == Decimal("-0.5")
    with pytest.raises(SettingsError, match="-1 to 1"):
        Settings.load({"HEADRACE_SAOP_CONFIDENCE_SLOPE": "-1.1"})


def test_the_key_of_the_masker_is_not_shown() -> None:
    settings = Settings.load({"HEADRACE_MASK_KEY": "hunter2"})
    assert settings.as_work()["MASK_KEY"] == "hunter2"
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize(
    "override",
    [{"partitions": "8"}, {"partitions": True}, {"prefix": 3}, {"apc_gate_min_score": 0.5}],
)
def test_an_override_of_the_wrong_type_is_refused(override: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        Settings.load({}, **override)


def test_an_unknown_override_names_the_nearest_one() -> None:
    with pytest.raises(SettingsError, match="nearest is partitions"):
        Settings.load({}, partition=8)


def test_settings_are_assigned_as_text_with_or_without_the_prefix() -> None:
    settings = Settings().assign({"PARTITIONS": "2", "HEADRACE_RTES_PROFILE": "open"})
    assert (settings.partitions, settings.rtes_profile) == (2, "open")
    with pytest.raises(SettingsError, match="nearest is HEADRACE_RTES_PROFILE"):
        settings.assign({"RTES_PROFIL": "open"})


def test_processors_see_their_settings_without_the_prefix_and_no_others() -> None:
    work = Settings(apc_max_packet_bytes=100).as_work()
    assert work["APC_MAX_PACKET_BYTES"] == 100
    assert work["APC_REQUIRE_ANTI_DRIFT"] is False
    assert work["MAX_RECORD_BYTES"] == 8_388_608
    assert "BOOTSTRAP" not in work
    assert not [name for name in work if "SECURITY" in name]


def test_security_settings_become_properties_of_the_kafka_clients() -> None:
    assert Settings().security() == {}
    settings = Settings.load({"HEADRACE_SECURITY_PROTOCOL": "SSL"})
    assert settings.security() == {"security.protocol": "SSL"}


def test_secrets_are_not_shown() -> None:
    settings = Settings.load({}, security_sasl_password="hunter2")
    assert "hunter2" not in repr(settings)
    with pytest.raises(SettingsError) as caught:
        Settings.load({}, security_ssl_key_password=12345)
    assert "12345" not in str(caught.value)


def test_the_settings_of_asap_are_those_of_its_spec() -> None:
    defaults = {key: declared.default for key, declared in BY_FIELD.items() if "asap_" in key}
    assert defaults == {
        "asap_service_urn": "urn:asap:agent:headrace",
        "asap_recipient_check": "auto",
        "asap_skill_check": False,
        "asap_timeout_seconds": 600,
        "asap_call_timeout_seconds": 600,
        "asap_max_depth": 10,
        "asap_idempotency_hours": 24,
        "asap_dedupe_hours": 168,
        "asap_max_retention_hours": 8760,
        "asap_max_envelope_bytes": 900_000,
        "asap_verdict_timeout_ms": 5000,
        "asap_max_wait_seconds": 60,
        "asap_call_wait_seconds": 30,
    }


def test_a_key_is_not_short_and_is_not_shown() -> None:
    for text in ("0123456789abcdef", "0123456789abcdef, fedcba9876543210"):
        assert Settings().assign({"PRINCIPAL_KEY": text}).principal_key == text
    for text in ("hunter2", "0123456789abcdef,hunter2", "0123456789abcdef,", " , "):
        with pytest.raises(SettingsError, match="keys of 16 characters or more") as caught:
            Settings().assign({"PRINCIPAL_KEY": text})
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("text", ["x" * 32, f"{'n' * 32}, {'o' * 40}", "ä" * 32])
def test_keys_of_macs_are_long(text: str) -> None:
    assert Settings.load({"HEADRACE_MAC_KEY": text}).mac_key == text


@pytest.mark.parametrize("text", ["x" * 31, f"{'n' * 32},", f"{'n' * 32},short", ",", " " * 40])
def test_short_keys_of_macs_are_refused_and_not_shown(text: str) -> None:
    with pytest.raises(SettingsError, match=r"HEADRACE_MAC_KEY is keys of 32 characters") as raised:
        Settings.load({"HEADRACE_MAC_KEY": text})
    assert text.strip(" ,") == "" or text.strip(" ,") not in str(raised.value)


@pytest.mark.parametrize("text", ["2026-11-22T00:40:31.677Z", "2026-11-22T01:40:31+01:00"])
def test_a_time_of_macs_has_its_zone(text: str) -> None:
    assert Settings.load({"HEADRACE_MAC_SINCE": text}).mac_since == text


@pytest.mark.parametrize("text", ["2026-11-22T00:40:31", "1763772031", "yesterday", "0001-01-01Z"])
def test_other_times_of_macs_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="HEADRACE_MAC_SINCE is a time with its zone"):
        Settings.load({"HEADRACE_MAC_SINCE": text})
