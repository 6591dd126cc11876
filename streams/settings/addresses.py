"""Addresses on which processes listen, and the file with a gateway's address."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from streams.errors import SettingsError
from streams.settings.service import ServiceSettings

_ANSWER_S = 2.0


class Address(NamedTuple):
    """A host and a port; port 0 means any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, setting: str = "HEADRACE_GATEWAY") -> Address:
        """Parse `host:port`, with an IPv6 host in brackets.

        Raises SettingsError, which names the setting.
        """
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not port.isascii() or not port.isdigit() or len(port) > 5:
            raise SettingsError(f"{setting} is host:port, not {text!r}")
        try:
            host.encode("idna")  # sockets do this too, but raise no OSError
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
    """Return the file that holds the gateway's URL while it runs, whatever its port."""
    return gateway_directory(settings) / "address"


def answers(url: str) -> bool:
    """Check whether a gateway is alive at this URL."""
    try:
        with urlopen(f"{url}/healthz", timeout=_ANSWER_S) as response:
            return bool(response.status == 200)
    except OSError:
        return False
