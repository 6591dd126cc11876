"""The commands `headrace asap` that send, and those that work offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from streams.cli import common, lists, text
from streams.errors import GatewayUnavailable, InfrastructureError, InvalidInput, NegativeAnswer
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.asap.errors import ASAPRemoteError

_SENDER = "urn:asap:agent:client"
_INTERNAL = -32603


def _parse_object(ctx: click.Context, parameter: click.Parameter, value: str) -> dict[str, Any]:
    from schemas import ShapeError, parse_ijson

    try:
        parsed = parse_ijson(value.encode(errors="surrogateescape"))
    except ShapeError as exc:
        raise click.BadParameter(exc.message) from exc
    if not isinstance(parsed, dict):
        raise click.BadParameter("a JSON object")
    return parsed


@click.command("request")
@click.option("--to", "recipient", metavar="URN", required=True, help="The worker.")
@click.option("--skill", "skill_id", metavar="ID", required=True, help="The skill.")
@click.option(
    "--conversation", "conversation_id", metavar="ID", required=True, help="The conversation."
)
@click.option(
    "--input",
    "task_input",
    metavar="JSON",
    required=True,
    callback=_parse_object,
    help="The input, a JSON object.",
)
@click.option(
    "--from", "sender", metavar="URN", default=_SENDER, show_default=True, help="The requester."
)
@click.option(
    "--wait", type=click.IntRange(0), metavar="N", help="Wait up to N seconds for the task to end."
)
@text.options
def request(
    recipient: str,
    skill_id: str,
    conversation_id: str,
    task_input: dict[str, Any],
    sender: str,
    wait: int | None,
) -> None:
    """Send a TaskRequest through a gateway, and print the reply.

    The gateway is that of HEADRACE_URL, else one that runs here, else that of HEADRACE_GATEWAY.
    The reply is a TaskResponse if the task ends within --wait, else a TaskUpdate with its state.
    Exits with 1 when the request is rejected.

    \b
    Example:
      headrace asap request --to urn:asap:agent:eu --skill index --conversation c1 --input '{}'
    """
    from pydantic import ValidationError

    from schemas.asap import TaskRequest, validation_problems
    from streams.asap.client import ASAPClient, send_task_sync
    from streams.asap.errors import ASAPConnectionError, ASAPRemoteError, ASAPTimeoutError

    settings = Settings.load()
    client = ASAPClient(_gateway_url(settings), sender=sender, token=settings.token)
    try:
        task_request = TaskRequest(
            conversation_id=conversation_id, skill_id=skill_id, input=task_input
        )
        reply = send_task_sync(client, task_request, recipient=recipient, wait=wait)
    except ValidationError as exc:
        raise InvalidInput(validation_problems(exc)) from exc
    except (ASAPConnectionError, ASAPTimeoutError) as exc:
        raise GatewayUnavailable(str(exc)) from exc
    except ASAPRemoteError as exc:
        raise _error_of(exc) from exc
    text.show(reply.model_dump(mode="json"), _render_reply)


def _render_reply(reply: Any, page: text.Page) -> None:
    lists.show_member_lines(
        page, {name: value for name, value in reply.items() if value is not None}
    )


def _gateway_url(settings: Settings) -> str:
    from streams.cli.gateway_client import candidates

    choices = candidates(settings)
    return choices[0].url if choices else f"http://{settings.gateway}"


def _error_of(exc: ASAPRemoteError) -> NegativeAnswer | InfrastructureError:
    data = exc.data if isinstance(exc.data, dict) else {}
    message = str(data.get("error") or exc.message)
    if exc.code == _INTERNAL:
        return InfrastructureError(message)
    rule = data.get("rule") or data.get("asap_error")
    return NegativeAnswer(f"{rule}: {message}" if rule else message)


@click.group("manifest")
def manifest() -> None:
    """Register agents.

    \b
    Example:
      headrace asap manifest put manifest.json
    """


@manifest.command("put")
@click.argument("file", type=click.File("rb"))
def put(file: BinaryIO) -> None:
    """Register an agent by its manifest, or replace the manifest; prints the record's position.

    \b
    Example:
      headrace asap manifest put manifest.json
    """
    from streams.cli.send import encode_values, produce
    from topology.asap import ASAP_MANIFESTS

    settings = Settings.load()
    outputs = encode_values(ASAP_MANIFESTS.name, file.read(), settings)
    with common.connect(settings) as log:
        for position in produce(log, outputs, None):
            common.echo(position)


@click.command("key")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def key(file: Path) -> None:
    """Print the record key of an envelope.

    \b
    Example:
      headrace asap key request.json
    """
    from schemas import Problem
    from schemas.asap import canonical_form, rules, task_key
    from streams.ingress.kinds import kind_of
    from streams.processing.ingress import check

    value = common.read_value(file, rules.MALFORMED_ENVELOPE.code)
    prepared, problems = check(kind_of("asap.envelope"), value, common.now_ms(), Settings.load())
    if problems:
        raise InvalidInput(problems)
    record_key = task_key(canonical_form(prepared.value))
    if record_key == prepared.value["id"] and value.get("id") is None:
        message = "The envelope has no id, which is its key."
        raise InvalidInput([Problem(rules.MALFORMED_ENVELOPE.code, "/id", message)])
    common.echo(record_key)


@click.command("schemas")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def schemas(directory: Path) -> None:
    """Export the JSON Schemas of ASAP, and print the file names.

    \b
    Example:
      headrace asap schemas ./schemas
    """
    from schemas.asap import export_all_schemas

    for path in export_all_schemas(directory):
        common.echo(path)
