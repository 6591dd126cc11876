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
from streams.settings.addresses import Address

_ASK_S = 3.0
_LOOK_S = 0.2
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


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

    Without an address: the first of HEADRACE_METRICS and HEADRACE_GATEWAY that responds.  Use it as
    a container's health check, or to wait in a script.

    \b
    Example:
      headrace ready 127.0.0.1:9464 --wait 60
    """
    places = _places(address)
    until = time.monotonic() + wait
    while (found := _first(places)) is None or not found["ready"]:
        if time.monotonic() >= until:
            break
        time.sleep(_LOOK_S)
    if found is None:
        raise GatewayUnavailable(
            f"nothing answers at {' or '.join(map(str, places))}",
            advice="Start a worker with HEADRACE_METRICS, or a gateway, or name the address.",
        )
    common.show_json(found)
    if not found["ready"]:
        click.get_current_context().exit(1)


def _places(address: str | None) -> list[Address]:
    """Raises SettingsError."""
    if address is not None:
        return [_local(Address.parse(address, "HOST:PORT"))]
    settings = Settings.load()
    metrics = settings.metrics
    worker = [] if metrics is None else [Address.parse(metrics, "HEADRACE_METRICS")]
    return [_local(place) for place in (*worker, Address.parse(settings.gateway))]


def _local(address: Address) -> Address:
    """Where one can be reached here that listens on all addresses."""
    return address._replace(host=_EVERYWHERE.get(address.host, address.host))


def _first(places: list[Address]) -> dict[str, Any] | None:
    """What the first that answers says of itself."""
    return next((found for place in places if (found := answer(place)) is not None), None)


def answer(address: Address) -> dict[str, Any] | None:
    """What a worker or a gateway says of itself at `/readyz`; None without an answer."""
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(f"{address.url}/readyz", timeout=_ASK_S) as answer:
            body = answer.read()
    except HTTPError as refused:
        with refused:
            body = refused.read()
    except (OSError, HTTPException):
        return None
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "ready" in found else None
