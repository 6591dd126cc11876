"""Where the gateway listens."""

from __future__ import annotations

import ipaddress
import socket

from streams.errors import AddressTaken, SettingsError, TokensMissing
from streams.settings.addresses import Address as Address


def bind(address: Address, guarded: bool = False) -> socket.socket:
    """A socket bound to it, which does not listen yet.

    guarded: tokens are asked for.
    Raises TokensMissing where they are not, for an address that other machines can reach;
    SettingsError, AddressTaken.
    """
    family, place = _found(address, guarded)
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(place)
    except OSError as exc:
        found.close()
        raise AddressTaken(f"the gateway cannot listen on {address}: {exc.strerror}") from exc
    return found


def _found(address: Address, guarded: bool) -> tuple[socket.AddressFamily, tuple[str, int]]:
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as exc:
        raise SettingsError(f"HEADRACE_GATEWAY: {address.host} is not known here") from exc
    if not guarded and not all(ipaddress.ip_address(entry[4][0]).is_loopback for entry in found):
        raise TokensMissing(
            f"HEADRACE_GATEWAY={address} can be reached from other machines, and whoever reaches"
            " it could send and read everything"
        )
    family, _, _, _, place = found[0]
    return family, (str(place[0]), int(place[1]))
