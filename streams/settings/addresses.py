"""Addresses on which processes listen, and the file with a gateway's address."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
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


class GatewayAddress(NamedTuple):
    """A running gateway: its URL, the brokers and the prefix of its log, and its process id."""

    url: str
    bootstrap: str
    prefix: str
    pid: int


def address_file(settings: ServiceSettings) -> Path:
    """Return the file that holds the gateway's address while it answers, whatever its port."""
    return gateway_directory(settings) / "address"


@contextmanager
def published(path: Path, address: GatewayAddress) -> Iterator[None]:
    """Keep a file with this address until the context is left."""
    partial = path.with_name(f"{path.name}.{address.pid}")
    partial.write_text(json.dumps(address._asdict()) + "\n")
    partial.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def read_address(settings: ServiceSettings) -> GatewayAddress | None:
    """Return the address in this state directory's file if its process lives, else None.

    A gateway that was killed leaves its file behind.
    """
    try:
        address = GatewayAddress(**json.loads(address_file(settings).read_bytes()))
        os.kill(address.pid, 0)
    except PermissionError:
        return address  # it lives, as another user's
    except (OSError, ValueError, TypeError):
        return None
    return address


def running_url(settings: ServiceSettings) -> str | None:
    """Return the URL of this state directory's gateway if it answers, else None."""
    address = read_address(settings)
    return address.url if address is not None and answers(address.url) else None


def answers(url: str, path: str = "/healthz") -> bool:
    """Check whether a gateway is alive at this URL, and has that path."""
    try:
        with urlopen(f"{url}{path}", timeout=_ANSWER_S) as response:
            return bool(response.status == 200)
    except OSError:
        return False
