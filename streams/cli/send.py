"""`headrace send`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from streams.cli import common, completing
from streams.cli.commands import SENT_TOPICS, join_or
from streams.errors import InvalidInput, UsageError
from streams.settings import Settings
from streams.telemetry.progress import count_items

if TYPE_CHECKING:
    from schemas import Problem
    from streams.engine.log import Log
    from streams.engine.records import Output, Record
    from streams.processing.ingress import EnvelopeType, IngressTopic

_BATCH_RECORDS = 500
_MAX_PENDING = 10_000


_HELP = f"""Send JSON in the protocol's own form: one value, a list, or one value a line.

TOPIC is {join_or(SENT_TOPICS)}.
FILE defaults to standard input.
All values are checked first; if one breaks a rule, none is sent.  Secrets in events are masked.
Prints the position of each record, which --after of the reading commands takes, and says on stderr
what the service will reject or what was left out.

With --pulses the input is no JSON but what a program prints; TOPIC is rtes.raw.

\b
Examples:
  headrace send apc.packets packet.json
  headrace send rtes.raw events.jsonl --rate 50
  make test 2>&1 | headrace send rtes.raw --pulses session-7
"""


@click.command("send", help=_HELP)
@click.argument("topic", shell_complete=completing.sent_topic)
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="At most N records per second.",
)
@click.option(
    "--pulses",
    "session_id",
    metavar="SESSION",
    help="Send each line of text as it is read, as sandbox output of this session.",
)
@click.option(
    "--key",
    metavar="KEY",
    help="The record key, for values that do not say it: the run of JSON-RPC responses.",
)
def command(
    topic: str, file: BinaryIO, rate: float | None, session_id: str | None, key: str | None
) -> None:
    settings = Settings.load()
    if session_id is not None:
        _send_pulses(topic, file, session_id, rate, settings)
        return
    content = file.read()
    outputs = encode_values(topic, content, settings, key)
    with common.connect(settings) as log:
        for position in count_items(produce(log, outputs, rate), "send", len(outputs)):
            common.echo(position)
    say_filled(outputs)
    _show_notes(topic, content, settings)


def say_filled(outputs: Sequence[Output]) -> None:
    """Say which absent members were derived from others."""
    from topology.core import FILLED

    names = [value for output in outputs for name, value in output.headers if name == FILLED.name]
    for members in sorted({text.decode() for text in names if text}):
        count = names.count(members.encode())
        common.echo(f"filled in: {members} of {count} of {len(outputs)}", err=True)


def _show_notes(topic: str, content: bytes, settings: Settings) -> None:
    """Say on stderr what will become of values, or what was left out of them."""
    from streams.ingress.edges import ingress_topic_of
    from streams.processing.ingress import notes_on

    kind = ingress_topic_of(topic).kind
    values = _parse_values(kind, content)
    for index, note in notes_on(kind, values, settings):
        place = f"value {index + 1} {note.path}" if len(values) > 1 else note.path
        common.echo(f"note: {place}: {note.rule}: {note.message}", err=True)


def _send_pulses(
    topic: str, file: BinaryIO, session_id: str, rate: float | None, settings: Settings
) -> None:
    from streams.engine.records import position
    from streams.ingress.edges import EDGES

    takes_output = [name for name, edge in EDGES.items() if edge.kind.from_output is not None]
    if topic not in takes_output:
        topics = " or ".join(takes_output)
        raise UsageError(f"sandbox output goes to {topics}", advice=f"Not to {topic}.")
    lines = output_lines(EDGES[topic], file, session_id, common.now_ms, settings)
    started_s = time.monotonic()
    pending: deque[Future[list[Record]]] = deque()
    with common.connect(settings) as log:
        for number, output in enumerate(lines):
            if rate is not None:
                time.sleep(max(0.0, started_s + number / rate - time.monotonic()))
            pending.append(log.submit([output]))
            while pending and (pending[0].done() or len(pending) > _MAX_PENDING):
                common.echo(position(pending.popleft().result()[0]))
        for future in pending:
            common.echo(position(future.result()[0]))


def output_lines(
    edge: IngressTopic,
    file: BinaryIO,
    session_id: str,
    clock: Callable[[], int],
    settings: Settings,
) -> Iterator[Output]:
    r"""Yield a masked record for each line that a program prints, as soon as it is read.

    Bytes that are not UTF-8 are written as \xNN.  clock: ms since the epoch.
    Raises OutputTooLarge at a line above the record limit.
    """
    from streams.processing.encode import to_output
    from streams.processing.key_blocks import Blocks

    blocks = Blocks()
    assert edge.kind.from_output is not None
    for line in iter(file.readline, b""):
        text = line.decode(errors="backslashreplace").rstrip("\r\n")
        now = clock()
        value = edge.kind.from_output(text, session_id, now)
        yield to_output(edge, value, now, settings, blocks)


def encode_values(
    topic: str, text: bytes, settings: Settings, key: str | None = None
) -> list[Output]:
    """Encode the values of a text.

    key: of values that do not say it themselves.
    Raises InvalidInput with all problems; paths begin with the number of the value.
    """
    from streams.ingress.edges import ingress_topic_of
    from streams.processing.encode import to_output
    from streams.processing.key_blocks import Blocks
    from streams.processing.lines import Unparsed

    edge = ingress_topic_of(topic)
    values = _address(edge, _parse_values(edge.kind, text), key)
    blocks = Blocks()
    outputs: list[Output] = []
    problems: list[Problem] = []
    for number, value in enumerate(values, 1):
        try:
            if isinstance(value, Unparsed):
                raise InvalidInput([edge.kind.unread(value)])
            outputs.append(to_output(edge, value, common.now_ms(), settings, blocks))
        except InvalidInput as exc:
            prefix = f"value {number}" if len(values) > 1 else ""
            problems += [p._replace(path=f"{prefix} {p.path}".strip()) for p in exc.problems]
    if problems:
        raise InvalidInput(problems, advice="Nothing was sent; correct the values and send again.")
    return outputs


def _address(edge: IngressTopic, values: Sequence[Any], key: str | None) -> Sequence[Any]:
    """Add the record key to values that do not say it.  Raises UsageError where all do."""
    address = edge.kind.address
    if key is None:
        return values
    if address is None:
        raise UsageError(
            f"the values of {edge.topic.name} say their key themselves", advice="Leave --key out."
        )
    return [address(value, key, None) for value in values]


def _parse_values(kind: EnvelopeType, text: bytes) -> Sequence[Any]:
    """Parse the values of a text.

    Raises InvalidInput if it is neither JSON nor the kind's other form.
    """
    from schemas import ShapeError
    from streams.processing.lines import Unparsed, read_values

    values = read_values(text)
    first = values[0]
    if kind.other_text is None or not isinstance(first, Unparsed) or first.is_json:
        return values
    try:
        return [kind.other_text(text)]
    except ShapeError as exc:
        raise InvalidInput([exc.problem]) from exc


def produce(log: Log, outputs: Sequence[Output], rate: float | None) -> Iterator[str]:
    """Append the records, and yield their positions in order as they are written."""
    from streams.engine.records import position

    size = _BATCH_RECORDS if rate is None else max(1, int(rate / 10))
    started_s = time.monotonic()
    for first in range(0, len(outputs), size):
        if rate is not None:
            time.sleep(max(0.0, started_s + first / rate - time.monotonic()))
        for record in log.append(outputs[first : first + size]):
            yield position(record)
