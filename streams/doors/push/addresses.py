"""The addresses that events may be posted to, so that nobody reaches inner services through us.

A host is resolved for each request, and the connection goes to an address that was checked.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import httpx

MAX_URL = 2048
IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
_VISIBLE = re.compile(r"[!-~]+")
_HOST = re.compile(r"[A-Za-z0-9._:-]{1,253}")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_DEFAULT_PORTS = {"https": 443, "http": 80}


class UrlRefused(Exception):
    """Events may not be posted to a URL.  Its text says why."""


class Receiver(NamedTuple):
    """The parts of a URL that events are posted to.  host: in ASCII, an address without brackets.

    authority: the value of the header Host.
    """

    url: httpx.URL
    host: str
    port: int
    authority: str

    @property
    def address(self) -> IpAddress | None:
        """Return the host if it is an address, written as numbers."""
        return _parse_address(self.host)


class AllowList(NamedTuple):
    """The hosts and networks that events may be posted to although they are not public."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[IpNetwork, ...] = ()

    @classmethod
    def parse(cls, setting: str | None) -> AllowList:
        """Parse HEADRACE_PUSH_ALLOW, whose form is checked."""
        hosts: set[str] = set()
        networks: list[IpNetwork] = []
        for entry in (setting or "").split(","):
            text = entry.strip()
            try:
                networks.append(ipaddress.ip_network(text, strict=False))
            except ValueError:
                hosts.add(_normal_host(text))
        return cls(frozenset(hosts - {""}), tuple(networks))

    def lists(self, address: IpAddress) -> bool:
        """Return whether an address is in a network that is listed."""
        plain = getattr(address, "ipv4_mapped", None) or address
        return any(plain in network for network in self.networks)

    def permits(self, host: str, address: IpAddress) -> bool:
        """Return whether events may be posted to a host at this address."""
        return _normal_host(host) in self.hosts or self.lists(address) or is_public(address)

    def choose(self, host: str, addresses: Iterable[IpAddress]) -> IpAddress:
        """Return the first address that is permitted.  Raises UrlRefused without one."""
        for address in addresses:
            if self.permits(host, address):
                return address
        raise UrlRefused(f"{host} is at no address that events may be posted to")


def parse_receiver(text: str, allowed: AllowList) -> Receiver:
    """Parse a URL that a client names.  Raises UrlRefused.

    What the host resolves to is checked for each request.  Source: MCP page, Webhooks.
    """
    if len(text) > MAX_URL:
        raise UrlRefused(f"the URL is longer than {MAX_URL} characters")
    if not _VISIBLE.fullmatch(text) or "\\" in text:
        raise UrlRefused("the URL has characters that a URL cannot have")
    try:
        url = httpx.URL(text)
        host = url.raw_host.decode("ascii").rstrip(".")
        port = url.port or _DEFAULT_PORTS.get(url.scheme, 0)
    except (httpx.InvalidURL, ValueError) as exc:
        raise UrlRefused("the URL cannot be read") from exc
    if url.scheme not in _DEFAULT_PORTS or not _HOST.fullmatch(host):
        raise UrlRefused("the URL begins with https:// and has a host")
    if not 0 < port < 1 << 16:
        raise UrlRefused("the URL has a port that there is not")
    if url.userinfo or "@" in text.partition("//")[2].partition("/")[0]:
        raise UrlRefused("the URL has a user")
    if "#" in text:
        raise UrlRefused("the URL has a fragment")
    receiver = Receiver(url, host, port, url.netloc.decode("ascii"))
    address = receiver.address
    if url.scheme == "http" and not (
        address is not None and address.is_loopback and allowed.lists(address)
    ):
        raise UrlRefused("http is for loopback addresses alone that HEADRACE_PUSH_ALLOW lists")
    if address is not None:
        allowed.choose(host, (address,))
    return receiver


def is_public(address: IpAddress) -> bool:
    """Return whether an address is global, and so is the IPv4 address that it may stand for."""
    if not address.is_global or address.is_multicast:
        return False
    return all(map(is_public, _embedded(address)))


def _embedded(address: IpAddress) -> Sequence[IpAddress]:
    """Return the IPv4 addresses that gateways would take an IPv6 address for."""
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    addresses = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        addresses.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [each for each in addresses if each is not None]


def _parse_address(text: str) -> IpAddress | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _normal_host(text: str) -> str:
    return text.strip().rstrip(".").lower()
