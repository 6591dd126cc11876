"""`headrace up`."""

from __future__ import annotations

import errno
import signal
import socket
import time
import webbrowser
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from streams.cli import common
from streams.errors import AddressTaken, UsageError
from streams.settings import Settings
from streams.settings.addresses import Address, answers

if TYPE_CHECKING:
    from streams.ops.system import System

_CHECK_S = 0.2


@click.command("up")
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Overrides HEADRACE_STATE_DIR; set that for the other commands.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Port of the gateway, instead of that in HEADRACE_GATEWAY; 0 takes any free one.",
)
@click.option(
    "--broker-port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Overrides HEADRACE_BROKER_PORT; 0 takes any free one.",
)
@click.option("--open", "opens", is_flag=True, help="Open the console in a browser.")
def command(state_dir: Path | None, port: int | None, broker_port: int | None, opens: bool) -> None:
    """Run everything on this machine: broker, topics, a worker and a gateway.

    Uses the broker that HEADRACE_BOOTSTRAP names, or else starts a local one.  Runs `headrace
    export otlp` too where OTEL_EXPORTER_OTLP_ENDPOINT is set.  Prints the addresses when everything
    is ready.  Ctrl-C stops everything cleanly; state is kept in the state
    directory, and the next `up` continues from it.

    \b
    Examples:
      headrace up
      headrace up --state-dir /tmp/other --port 0 --broker-port 0
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    settings = settings_of(state_dir, port, broker_port)
    started_s = time.monotonic()
    from streams.ops.system import running_system

    try:
        with running_system(settings, _print_status, _exports_spans()) as system:
            _print_status(f"ready after {time.monotonic() - started_s:.1f} s")
            _print_addresses(system, opens)
            while True:
                system.check()
                time.sleep(_CHECK_S)
    except KeyboardInterrupt:
        _print_status("stopped; state is kept")


def _exports_spans() -> bool:
    """Return whether to run an exporter of spans; say why not if it is on, and cannot run."""
    from streams.settings import otlp_export
    from streams.settings.composed import environment_without
    from streams.settings.service import PREFIX

    variables = environment_without(PREFIX)
    if not otlp_export.is_on(variables):
        return False
    try:
        otlp_export.load(variables)
        import_module("streams.doors.otlp.exporter.export")
    except UsageError as exc:
        _print_status(f"spans are not exported: {exc}")
        return False
    return True


def settings_of(state_dir: Path | None, port: int | None, broker_port: int | None) -> Settings:
    """Return the settings with these options; raises AddressTaken for a port that is in use."""
    settings = Settings.load()
    if state_dir is not None:
        settings = replace(settings, state_dir=state_dir)
    if broker_port is not None:
        settings = replace(settings, broker_port=broker_port)
    address = Address.parse(settings.gateway)
    if port is not None:
        address = address._replace(port=port)
    _require_free(address, "--port")
    if broker_port and settings.bootstrap is None:
        from streams.ops.broker.home import Home

        if Home(settings.state_dir).running() is None:
            _require_free(Address("127.0.0.1", broker_port), "--broker-port")
    return replace(settings, gateway=str(address))


def _require_free(address: Address, option: str) -> None:
    """Raise AddressTaken if another process listens there; other faults show when it is used."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError as exc:
            if exc.errno == errno.EADDRINUSE:
                message = f"port {address.port} is taken; {option} 0 takes a free one"
                raise AddressTaken(message, advice="") from exc


def _print_addresses(system: System, opens: bool) -> None:
    console = f"{system.url}/console/"
    has_console = answers(system.url, "/console/")
    if has_console:
        common.echo(f"console  {console}")
    common.echo(f"gateway  {system.url}")
    common.echo(f"kafka    {system.settings.bootstrap}")
    common.echo(f"state    {system.settings.state_dir.absolute()}")
    for part in system.parts:
        common.echo(f"{part.name:<8} process {part.pid}, log {part.log}")
    if system.settings.state_dir.absolute() != Settings.load().state_dir.absolute():
        state_dir = quote(str(system.settings.state_dir.absolute()))
        common.echo(f"In other terminals: export HEADRACE_STATE_DIR={state_dir}")
    common.echo("Send packets with `headrace send apc.packets FILE`; Ctrl-C stops all.")
    common.echo(_task_states(system.settings))
    if opens and has_console:
        webbrowser.open(console)
    elif opens:
        _print_status("this gateway has no console to open")


def _task_states(settings: Settings) -> str:
    """Return which states tasks on rtes.raw may have, and how to have others."""
    from topology.machines.task_profiles import PROFILES

    states = ", ".join(PROFILES[settings.rtes_profile].states)
    if not states:
        return f"States of tasks on rtes.raw: any (profile {settings.rtes_profile})."
    return (
        f"States of tasks on rtes.raw: {states} (profile {settings.rtes_profile}); for others start"
        " with HEADRACE_RTES_PROFILES=PREFIX=open."
    )


def _print_status(text: str) -> None:
    common.echo(text, err=True)
