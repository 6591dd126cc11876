"""`headrace send`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

import click

from streams.cli import common
from streams.errors import InvalidInput
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.engine.log import Log
    from streams.engine.records import Output

_AT_ONCE = 500


@click.command("send")
@click.argument("topic")
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="At most N records per second.",
)
def command(topic: str, file: BinaryIO, rate: float | None) -> None:
    """Send JSON in the protocol's own form: one value, a list, or one value a line.

    TOPIC is apc.packets or rtes.raw.  FILE defaults to standard input.  All values are checked
    first; if one breaks a rule, none is sent.  Prints the position of each record, which --after
    of the reading commands takes.

    \b
    Examples:
      headrace send apc.packets packet.json
      headrace send rtes.raw events.jsonl --rate 50
    """
    settings = Settings.load()
    outputs = outputs_of(topic, file.read(), settings)
    with common.connect(settings) as log:
        for position in produce(log, outputs, rate):
            click.echo(position)


def outputs_of(topic: str, text: bytes, settings: Settings) -> list[Output]:
    """Raises InvalidInput with all problems; paths begin with the number of the value."""
    from schemas import Problem
    from streams import edges

    edge = edges.edge_of(topic)
    values = edges.read_values(text)
    outputs: list[Output] = []
    problems: list[Problem] = []
    for number, value in enumerate(values, 1):
        try:
            if isinstance(value, edges.Unparsed):
                raise InvalidInput([Problem("json_invalid", "", value.message)])
            outputs.append(edges.to_output(edge, value, common.now_ms(), settings))
        except InvalidInput as exc:
            where = f"value {number}" if len(values) > 1 else ""
            problems += [p._replace(path=f"{where} {p.path}".strip()) for p in exc.problems]
    if problems:
        raise InvalidInput(problems, advice="Nothing was sent; correct the values and send again.")
    return outputs


def produce(log: Log, outputs: Sequence[Output], rate: float | None) -> Iterator[str]:
    """Positions of the records, in order, as they are written."""
    from streams.engine.records import position

    size = _AT_ONCE if rate is None else max(1, int(rate / 10))
    begun = time.monotonic()
    for first in range(0, len(outputs), size):
        if rate is not None:
            time.sleep(max(0.0, begun + first / rate - time.monotonic()))
        for record in log.append(outputs[first : first + size]):
            yield position(record)
