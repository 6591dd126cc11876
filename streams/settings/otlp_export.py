"""The variables of OpenTelemetry that the exporter reads.

They are no settings of headrace: other programs read them too, so a process that exports nothing
neither needs them nor refuses what they say.  Source: OTel guide, 10.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from streams.errors import SettingsError, UsageError

_PATH = "/v1/traces"
_COMPRESSIONS = ("none", "gzip")
_MAX_DIGITS = 9
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class _Coded(UsageError):
    """An error whose text begins with its code."""

    def __str__(self) -> str:
        return f"{self.code}: {super().__str__()}"


class OtlpEndpoint(_Coded):
    default_advice = "Set OTEL_EXPORTER_OTLP_ENDPOINT to the address of a backend or a collector."


class OtlpProtocol(_Coded):
    default_advice = (
        "Set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL to http/protobuf; a collector translates."
    )


@dataclass(frozen=True, kw_only=True)
class ExportSettings:
    """The backend, and the form in which spans are sent to it.

    certificate: file of CA certificates.  client_certificate, client_key: files, both or neither.
    batch_spans: of one request at most.  delay_s: how long a span may wait for others.
    max_value_chars: longer texts of attributes are cut; None: none is.
    sampler, sampler_argument: which spans are exported.
    """

    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_compressed: bool = False
    timeout_s: float = 10.0
    certificate: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None
    batch_spans: int = 512
    delay_s: float = 1.0
    max_value_chars: int | None = None
    sampler: str = "parentbased_always_on"
    sampler_argument: str = ""


def is_on(variables: Mapping[str, str]) -> bool:
    """Return whether variables name a backend, and none turns the export off."""
    return (
        variables.get("OTEL_SDK_DISABLED", "").strip().lower() != "true"
        and variables.get("OTEL_TRACES_EXPORTER", "").strip() in ("", "otlp")
        and _endpoint(variables) is not None
    )


def load(variables: Mapping[str, str]) -> ExportSettings:
    """Load the settings from variables; an empty one counts as unset.

    Raises OtlpEndpoint if the export is off, OtlpProtocol, SettingsError.
    """
    endpoint = _endpoint(variables)
    if endpoint is None or not is_on(variables):
        raise OtlpEndpoint("no variable of OpenTelemetry names a backend, or one turns it off")
    if not _is_address(endpoint):
        raise OtlpEndpoint(
            "the address of the backend is not http://host:port or https://host:port"
        )
    protocol = _of_traces(variables, "PROTOCOL")
    if protocol not in (None, "http/protobuf"):
        raise OtlpProtocol("headrace sends http/protobuf only")
    compression = _of_traces(variables, "COMPRESSION") or "none"
    if compression not in _COMPRESSIONS:
        choices = ", ".join(_COMPRESSIONS)
        raise SettingsError(f"OTEL_EXPORTER_OTLP_COMPRESSION is one of {choices}")
    certificate, key = (_of_traces(variables, f"CLIENT_{name}") for name in ("CERTIFICATE", "KEY"))
    if (certificate is None) != (key is None):
        raise SettingsError("a client certificate and its key are set together")
    timeout = _of_traces(variables, "TIMEOUT") or "10000"
    limit = _text(variables, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT")
    return ExportSettings(
        endpoint=endpoint,
        headers=_headers(_of_traces(variables, "HEADERS") or ""),
        is_compressed=compression == "gzip",
        timeout_s=_number("OTEL_EXPORTER_OTLP_TIMEOUT", timeout, 1) / 1000,
        certificate=_of_traces(variables, "CERTIFICATE"),
        client_certificate=certificate,
        client_key=key,
        batch_spans=_number_of(variables, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "512", 1),
        delay_s=_number_of(variables, "OTEL_BSP_SCHEDULE_DELAY", "1000", 0) / 1000,
        max_value_chars=None
        if limit is None
        else _number("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", limit, 0),
        sampler=(_text(variables, "OTEL_TRACES_SAMPLER") or "parentbased_always_on").lower(),
        sampler_argument=_text(variables, "OTEL_TRACES_SAMPLER_ARG") or "",
    )


def _endpoint(variables: Mapping[str, str]) -> str | None:
    """Return the address that is sent to: that of traces as it is, else below the common one."""
    of_traces = _text(variables, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    if of_traces is not None:
        return of_traces
    common = _text(variables, "OTEL_EXPORTER_OTLP_ENDPOINT")
    return None if common is None else common.rstrip("/") + _PATH


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port, or of an address in brackets
        return False


def _of_traces(variables: Mapping[str, str], name: str) -> str | None:
    """Return the variable of traces, else that of all signals."""
    of_traces = _text(variables, f"OTEL_EXPORTER_OTLP_TRACES_{name}")
    return of_traces or _text(variables, f"OTEL_EXPORTER_OTLP_{name}")


def _text(variables: Mapping[str, str], name: str) -> str | None:
    return variables.get(name, "").strip() or None


def _headers(text: str) -> dict[str, str]:
    """Parse `name=value,…`, with percent-encoded values.  Raises SettingsError, without them."""
    headers: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        name, value = name.strip(), unquote(value.strip())
        is_value = value.isascii() and value.isprintable()
        if not equals or not _HEADER.fullmatch(name) or not is_value:
            raise SettingsError("OTEL_EXPORTER_OTLP_HEADERS is name=value, separated by commas")
        headers[name.lower()] = value
    return headers


def _number_of(variables: Mapping[str, str], name: str, default: str, low: int) -> int:
    return _number(name, _text(variables, name) or default, low)


def _number(name: str, text: str, low: int) -> int:
    """Parse a whole number of at most nine digits.  Raises SettingsError."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
    if not is_number or int(text) < low:
        raise SettingsError(f"{name} is a whole number from {low} on, not {text!r}")
    return int(text)
