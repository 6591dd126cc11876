"""Where the gateway listens."""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple

from streams.errors import AddressTaken, SettingsError


class Address(NamedTuple):
    """port 0: any that is free."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """`host:port`, an IPv6 host in brackets.  Raises SettingsError."""
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not port.isascii() or not port.isdigit() or len(port) > 5:
            raise SettingsError(f"HEADRACE_GATEWAY is host:port, not {text!r}")
        if int(port) > 65535:
            raise SettingsError(f"HEADRACE_GATEWAY: {port} is not a port")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self}"


def bind(address: Address) -> socket.socket:
    """A socket bound to it, which does not listen yet.

    Raises SettingsError for an address that other machines can reach, AddressTaken.
    """
    family, place = _loopback(address)
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(place)
    except OSError as exc:
        found.close()
        raise AddressTaken(f"the gateway cannot listen on {address}: {exc.strerror}") from exc
    return found


def _loopback(address: Address) -> tuple[socket.AddressFamily, tuple[str, int]]:
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as exc:
        raise SettingsError(f"HEADRACE_GATEWAY: {address.host} is not known here") from exc
    if not all(ipaddress.ip_address(entry[4][0]).is_loopback for entry in found):
        raise SettingsError(
            f"HEADRACE_GATEWAY={address} can be reached from other machines, and the gateway does"
            " not know yet who they are",
            advice="Listen on 127.0.0.1, behind a proxy that lets in whom you trust.",
        )
    family, _, _, _, place = found[0]
    return family, (str(place[0]), int(place[1]))
