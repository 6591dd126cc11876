"""Where processes listen, and where a gateway says so."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from streams.errors import SettingsError
from streams.settings.service import ServiceSettings

_ANSWER_S = 2.0


class Address(NamedTuple):
    """port 0: any that is free."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, setting: str = "HEADRACE_GATEWAY") -> Address:
        """`host:port`, an IPv6 host in brackets.  Raises SettingsError, which names the setting."""
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not port.isascii() or not port.isdigit() or len(port) > 5:
            raise SettingsError(f"{setting} is host:port, not {text!r}")
        try:
            host.encode("idna")  # as sockets do, which raise no OSError
        except UnicodeError as exc:
            raise SettingsError(f"{setting}: {host!r} is not a host") from exc
        if int(port) > 65535:
            raise SettingsError(f"{setting}: {port} is not a port")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self}"


def gateway_directory(settings: ServiceSettings) -> Path:
    return settings.state_dir / "gateway"


def address_file(settings: ServiceSettings) -> Path:
    """Holds the gateway's URL while it runs, whatever port it was given."""
    return gateway_directory(settings) / "address"


def answers(url: str) -> bool:
    """Whether a gateway is alive there."""
    try:
        with urlopen(f"{url}/healthz", timeout=_ANSWER_S) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
