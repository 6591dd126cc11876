"""`headrace gateway`."""

from __future__ import annotations

import gc
import signal
from pathlib import Path
from typing import Any

import click

from streams.cli import common
from streams.settings import Settings


@click.command("gateway")
@click.option(
    "--listen",
    "gateway",
    metavar="HOST:PORT",
    help="Overrides HEADRACE_GATEWAY; port 0 takes any free port.",
)
@click.option("--bootstrap", metavar="HOST:PORT", help="Overrides HEADRACE_BOOTSTRAP.")
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Overrides HEADRACE_STATE_DIR.",
)
@click.option(
    "--wait",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds to wait for Kafka at the start.",
)
def command(wait: float, **overrides: Any) -> None:
    """Serve HTTP until Ctrl-C or SIGTERM: send envelopes, ask queries, follow events.

    Prints its address when it can answer queries.  /openapi.json describes the API, /readyz reports
    its state, and /metrics its metrics.  It listens beyond loopback only with bearer tokens
    (HEADRACE_TOKENS, `headrace tokens new`).

    \b
    Example:
      headrace gateway --listen 127.0.0.1:8650
      curl http://127.0.0.1:8650/v1/apc/packets?session_id=sess-01
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until it serves
    settings = Settings.load(
        **{name: value for name, value in overrides.items() if value is not None}
    )
    from streams.gateway.server import run_gateway

    gc.freeze()
    run_gateway(settings, patience_s=wait, on_ready=_print_url)


def _print_url(url: str) -> None:
    common.echo(f"gateway {url}")
