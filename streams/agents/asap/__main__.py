"""`python -m streams.agents.asap`."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from pathlib import Path
from typing import Any

import click

from schemas.asap import Envelope
from streams.agents.asap import over_http, over_kafka
from streams.agents.asap.indexer import request
from streams.agents.cursor_file import place_of
from streams.agents.stopping import until_stopped
from streams.asap.errors import ASAPConnectionError, ASAPRemoteError, ASAPTimeoutError
from streams.errors import GatewayUnavailable, HeadraceError, NegativeAnswer
from streams.settings import Settings

HTTP, KAFKA = "http", "kafka"


@click.group("streams.agents.asap")
def main() -> None:
    """Two example agents of ASAP; HEADRACE_… settings say where the system is."""


def _shared(function: Any) -> Any:
    for option in (
        click.option("--state-dir", type=click.Path(path_type=Path), help="For the agent's file."),
        click.option("--bootstrap", metavar="HOST:PORT", help="Instead of HEADRACE_BOOTSTRAP."),
        click.option("--gateway", metavar="HOST:PORT", help="Instead of HEADRACE_GATEWAY."),
        click.option("--over", type=click.Choice([HTTP, KAFKA]), default=HTTP, show_default=True),
        click.option("--urn", required=True, metavar="URN", help="Who this agent is."),
    ):
        function = option(function)
    return function


def _settings(options: dict[str, Any]) -> Settings:
    return Settings.load(**{name: value for name, value in options.items() if value is not None})


def _tell(hop: str, envelope: Envelope) -> None:
    """Print one line for an envelope that was sent or received."""
    members = envelope.model_dump(mode="json", include=set(_MEMBERS))
    _say({"hop": hop, **{name: members[name] for name in _MEMBERS}})


_MEMBERS = ("payload_type", "id", "sender", "recipient", "correlation_id", "trace_id")


def _say(line: dict[str, Any]) -> None:
    click.echo(json.dumps(line))


@main.command("worker")
@_shared
@click.option("--pace", type=click.FloatRange(0), default=0.05, help="Seconds that a page takes.")
def worker(urn: str, over: str, pace: float, **options: Any) -> None:
    """Index pages for whoever asks, until Ctrl-C or SIGTERM.

    \b
    Example:
      python -m streams.agents.asap worker --urn urn:asap:agent:indexer:eu --over kafka
    """
    settings = _settings(options)
    if over == HTTP:
        gateway = f"http://{settings.gateway}"
        http = over_http.Worker(gateway, urn, pace, _tell, settings.token)
        _run(until_stopped(http.run(lambda: click.echo(f"agent {urn}"))))
    else:
        cursor_file = place_of(urn, settings.state_dir)
        kafka = over_kafka.Worker(settings, urn, cursor_file, pace, _tell)
        _run(until_stopped(kafka.run(lambda: click.echo(f"agent {urn}"))))


@main.command("requester")
@_shared
@click.option("--to", "worker_urn", required=True, metavar="URN", help="Who is to work.")
@click.option("--pages", type=click.IntRange(0), default=10, show_default=True)
@click.option("--conversation", default=None, metavar="ID", help="Default: a new one.")
@click.option("--trace", default=None, metavar="ID", help="Default: a new one.")
@click.option("--wait", "wait_s", type=click.IntRange(1), default=60, show_default=True)
def requester(
    urn: str,
    over: str,
    worker_urn: str,
    pages: int,
    conversation: str | None,
    trace: str | None,
    wait_s: int,
    **options: Any,
) -> None:
    """Have pages indexed, and print every envelope and the end.

    \b
    Example:
      python -m streams.agents.asap requester --urn urn:asap:agent:planner \\
        --to urn:asap:agent:indexer:eu --pages 42
    """
    settings = _settings(options)
    conversation = conversation or f"conv-{uuid.uuid4().hex[:8]}"
    task_request = request(
        urn, worker_urn, conversation, pages, trace or f"tr-{uuid.uuid4().hex[:8]}"
    )
    if over == HTTP:
        gateway = f"http://{settings.gateway}"
        ended = over_http.ask(gateway, task_request, wait_s, _tell, settings.token)
    else:
        ended = over_kafka.ask(settings, task_request, wait_s, _tell)
    _say({"hop": "ended", **_run(ended)})


def _run(work: Any) -> Any:
    try:
        return asyncio.run(work)
    except (ASAPConnectionError, ASAPTimeoutError) as exc:
        raise _Ended(GatewayUnavailable(str(exc))) from exc
    except (ASAPRemoteError, TimeoutError) as exc:
        raise _Ended(NegativeAnswer(str(exc) or "the task did not end in time")) from exc
    except HeadraceError as exc:
        raise _Ended(exc) from exc


class _Ended(click.ClickException):
    """One line on stderr, and the exit code of the error."""

    def __init__(self, error: HeadraceError) -> None:
        super().__init__(str(error))
        self.exit_code = error.exit_code

    def show(self, file: Any = None) -> None:
        click.echo(f"agent: {self.message}", err=True)


if __name__ == "__main__":
    sys.exit(main())
