"""`headrace ready`."""

from __future__ import annotations

import json
import time
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

import click

from streams.cli import common
from streams.errors import GatewayUnavailable
from streams.settings import Settings
from streams.settings.addresses import Address, read_address

_TIMEOUT_S = 3.0
_RETRY_S = 0.2
_LOOPBACK_OF = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@click.command("ready")
@click.argument("address", required=False, metavar="[HOST:PORT]")
@click.option(
    "--wait",
    type=click.FloatRange(0),
    default=0.0,
    metavar="SECONDS",
    help="Seconds to wait until it is ready.",
)
def command(address: str | None, wait: float) -> None:
    """Check whether a worker or a gateway is ready: exit 0 if so, 1 if not, 3 without a response.

    Without an address: the first that responds of HEADRACE_METRICS, the gateway of this state
    directory (`headrace up` runs one) and HEADRACE_GATEWAY.  Use it as a container's health check,
    or to wait in a script.

    \b
    Example:
      headrace ready 127.0.0.1:9464 --wait 60
    """
    addresses = _addresses(address)
    deadline = time.monotonic() + wait
    while (readiness := _first_answer(addresses)) is None or not readiness["ready"]:
        if time.monotonic() >= deadline:
            break
        time.sleep(_RETRY_S)
    if readiness is None:
        raise GatewayUnavailable(
            f"nothing answers at {' or '.join(map(str, addresses))}",
            advice="Start a worker with HEADRACE_METRICS, or a gateway, or name the address.",
        )
    common.show_json(readiness)
    if not readiness["ready"]:
        click.get_current_context().exit(1)


def _addresses(address: str | None) -> list[Address]:
    """Return the addresses to ask.  Raises SettingsError."""
    if address is not None:
        return [_reachable(Address.parse(address, "HOST:PORT"))]
    settings = Settings.load()
    metrics = settings.metrics
    worker = [] if metrics is None else [Address.parse(metrics, "HEADRACE_METRICS")]
    running = read_address(settings)
    gateway = [] if running is None else [Address.parse(running.url.removeprefix("http://"))]
    configured = Address.parse(settings.gateway)
    return list(dict.fromkeys(_reachable(each) for each in (*worker, *gateway, configured)))


def _reachable(address: Address) -> Address:
    """Return an address that can be reached here, instead of one that means all interfaces."""
    return address._replace(host=_LOOPBACK_OF.get(address.host, address.host))


def _first_answer(addresses: list[Address]) -> dict[str, Any] | None:
    """Return the state at the first address that answers, None if none does."""
    return next(
        (readiness for address in addresses if (readiness := fetch_readiness(address)) is not None),
        None,
    )


def fetch_readiness(address: Address) -> dict[str, Any] | None:
    """Return the state of a worker or a gateway at `/readyz`, None without an answer."""
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(f"{address.url}/readyz", timeout=_TIMEOUT_S) as response:
            body = response.read()
    except HTTPError as refused:
        with refused:
            body = refused.read()
    except (OSError, HTTPException):
        return None
    try:
        readiness = json.loads(body)
    except ValueError:
        return None
    return readiness if isinstance(readiness, dict) and "ready" in readiness else None
