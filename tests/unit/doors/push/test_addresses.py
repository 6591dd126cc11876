"""Tests of which addresses events may be posted to."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.doors.push.addresses import AllowList, UrlRefused, is_public, parse_receiver

ALLOWED = AllowList.parse("127.0.0.0/8, Hooks.Local, 10.0.0.5")


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://example.com/x?a=1", "example.com", 443),
        ("https://example.com:8443", "example.com", 8443),
        ("https://8.8.8.8/", "8.8.8.8", 443),
        ("https://[2606:4700::1]/", "2606:4700::1", 443),
        ("https://127.0.0.1/", "127.0.0.1", 443),
        ("https://10.0.0.5/", "10.0.0.5", 443),
        ("http://127.0.0.1:8080/hook", "127.0.0.1", 8080),
    ],
)
def test_urls_that_are_taken(url: str, host: str, port: int) -> None:
    receiver = parse_receiver(url, ALLOWED)
    assert (receiver.host, receiver.port) == (host, port)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "http://localhost/",  # a name may lead elsewhere
        "http://127.1/",
        "http://10.0.0.5/",  # listed, but not loopback
        "https://10.0.0.6/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.6]/",
        "https://169.254.169.254/latest/meta-data",
        "https://224.0.1.1/",
        "https://user@example.com/",
        "https://user:secret@example.com/",
        "https://@example.com/",
        "https://example.com/#part",
        "https://example.com/a b",
        "https://example.com\\@127.0.0.1/",
        "https://example.com/\n",
        "https://exämple.com/",
        "https:///path",
        "ftp://example.com/",
        "//example.com/",
        "example.com",
        "",
        "https://example.com/" + "x" * 2048,
        "https://example.com:0x50/",
        "https://example.com:99999/",
    ],
)
def test_urls_that_are_refused(url: str) -> None:
    with pytest.raises(UrlRefused):
        parse_receiver(url, ALLOWED)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1", True),
        ("64:ff9b::8.8.8.8", True),
        ("64:ff9b::127.0.0.1", False),
        ("64:ff9b::10.0.0.1", False),
        ("2002:7f00:1::", False),
        ("::ffff:192.168.0.1", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("::", False),
        ("ff0e::1", False),
        ("fd00::1", False),
    ],
)
def test_public_addresses(address: str, expected: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) is expected


@given(st.ip_addresses())
def test_no_address_is_public_that_is_not_global(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    assert address.is_global or not is_public(address)


def test_of_several_addresses_only_one_that_is_permitted_is_taken() -> None:
    addresses = [ipaddress.ip_address(text) for text in ("10.1.1.1", "8.8.4.4", "8.8.8.8")]
    assert str(AllowList().choose("example.com", addresses)) == "8.8.4.4"
    with pytest.raises(UrlRefused):
        AllowList().choose("example.com", addresses[:1])
    assert str(ALLOWED.choose("hooks.local.", addresses[:1])) == "10.1.1.1"
    mapped = ipaddress.ip_address("::ffff:127.0.0.1")
    assert ALLOWED.permits("example.com", mapped)
