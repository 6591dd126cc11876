"""The command `headrace audit prove`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from streams.cli import common, gateway_client
from streams.cli.gateway_client import NoGateway
from streams.cli.record_text import ask_effects, is_position
from streams.errors import Conflict, GatewayUnavailable, NotFound, UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.ops.tlog.receipt import Receipt

MAX_WAIT_S = 60
_LOOK_S = 0.5
"""How often the verdict on a command is asked for."""


@click.command("prove")
@click.argument("position", metavar="POSITION")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the receipt to this file.",
)
@click.option(
    "--record",
    "with_record",
    is_flag=True,
    help="Write the record beside it, to FILE.record.json; it is read from Kafka.",
)
@click.option(
    "--wait",
    "wait_s",
    type=click.IntRange(0, MAX_WAIT_S),
    default=0,
    metavar="S",
    help=f"Wait up to S seconds, at most {MAX_WAIT_S}, until the entry is published.",
)
@gateway_client.options
def prove(position: str, out: Path | None, with_record: bool, wait_s: int) -> None:
    """Give the receipt of a record: that it is in the transparency log.

    POSITION is TOPIC/PARTITION/OFFSET of a fact or of a record of operators' tools, or of a
    command: then the receipt is that of the fact with the verdict on it.  `audit check` checks it
    without network and broker.

    Without a gateway the log is read, by the policy in HEADRACE_TLOG_POLICY.

    \b
    Examples:
      headrace audit prove apc.events/3/118 --out fact.tlog-proof
      headrace audit prove apc.packets/3/41 --wait 30 --out fact.tlog-proof --record
    """
    if with_record and out is None:
        raise UsageError("--record needs --out FILE")
    settings = Settings.load()
    data, receipt = _prove(position, wait_s, settings)
    if out is None:
        common.echo_block(data.decode().removesuffix("\n"))
        return
    out.write_bytes(data)
    if with_record:
        _write_record(out, receipt, settings)
    place = f"index {receipt.index} of {receipt.checkpoint.size}"
    common.echo(f"{out}: {receipt.entry.position}, {place}")


def _prove(position: str, wait_s: int, settings: Settings) -> tuple[bytes, Receipt]:
    """Return the receipt of a record, or of the fact with the verdict on it, and its content."""
    from streams.ops.tlog.errors import TopicNotCovered

    if not is_position(position):
        raise UsageError(f"{position} is no position, TOPIC/PARTITION/OFFSET")
    deadline = time.monotonic() + wait_s
    try:
        return _ask_receipt(position, wait_s, settings)
    except TopicNotCovered:
        if not _is_of_command(position, settings):
            raise
    fact = _ask_fact(position, deadline, settings)
    return _ask_receipt(fact, max(0, round(deadline - time.monotonic())), settings)


def _is_of_command(position: str, settings: Settings) -> bool:
    from topology.declarations import TopicKind
    from topology.topics import BY_NAME

    topic = BY_NAME.get(position.partition("/")[0].removeprefix(settings.prefix))
    return topic is not None and topic.kind in (TopicKind.COMMAND, TopicKind.COLLECTOR)


def _ask_fact(position: str, deadline: float, settings: Settings) -> str:
    """Return the position of the fact with the verdict on a command, once there is one.

    deadline: of the wait for it, on the monotonic clock.  Raises Conflict while there is none,
    NotFound if the command has led to no fact.
    """
    effects = ask_effects(position, settings)
    while not effects["decided"] and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
        effects = ask_effects(position, settings)
    facts = [each["fact"] for each in effects["verdicts"] if each["fact"] is not None]
    if facts:
        return str(facts[0])
    if effects["decided"]:
        message = f"no fact has a verdict on {position}"
        raise NotFound(message, "not_found", advice=f"`headrace show {position}` says more.")
    message = f"there is no verdict on {position} yet"
    raise Conflict(message, "verdict_pending", advice="`--wait S` waits for it.")


def _ask_receipt(position: str, wait_s: int, settings: Settings) -> tuple[bytes, Receipt]:
    """Return the receipt of a record, from a gateway or else from an own view.

    Raises NotFound, Conflict while its entry is not published, TopicNotCovered.
    """
    from streams.ops.tlog.receipt import ReceiptMalformed, parse_receipt

    path = f"/v1/audit/receipts/{position}"
    answer = gateway_client.ask(path, common.query_of({"wait": wait_s}), settings, text=True)
    if isinstance(answer, NoGateway):
        data = _read_receipt(position, wait_s, settings, answer)
    elif answer.status != 200:
        _raise_problem(position, answer)
    else:
        data = answer.body
    try:
        receipt = parse_receipt(data)
    except ReceiptMalformed as exc:
        raise GatewayUnavailable(f"the gateway gives no receipt of {position}: {exc}") from exc
    if receipt.entry.position != position:
        message = f"the gateway gives the receipt of {receipt.entry.position} for {position}"
        raise GatewayUnavailable(message)
    return data, receipt


def _read_receipt(position: str, wait_s: int, settings: Settings, missing: NoGateway) -> bytes:
    """Return the receipt of a record from an own view."""
    from streams.engine.records import TopicPartition
    from streams.ops.tlog.errors import TopicNotCovered
    from streams.ops.tlog.logged_topics import logged_topics
    from streams.view_store.receipts import find_receipt
    from streams.view_store.transparency import followed_log
    from streams.views.parse import parse_position

    followed = followed_log(settings)
    if followed is None:
        raise UsageError("set HEADRACE_TLOG_POLICY, or ask a gateway that has a policy")
    topic, partition, offset = parse_position(position)
    if topic not in logged_topics(settings.prefix):
        raise TopicNotCovered(f"records of {topic} have no entries in the log")
    tp, started_s = TopicPartition(topic, partition), time.monotonic()
    with common.connect(settings) as log, common.open_view(log, settings) as view:
        common.echo(common.remark_of(missing, time.monotonic() - started_s), err=True)

        def is_published() -> bool:
            return find_receipt(followed, view, tp, offset) is not None

        common.step_until(view, is_published, wait_s)
        receipt = find_receipt(followed, view, tp, offset)
    if receipt is None:
        raise _not_logged(f"{position} has no published entry yet")
    return receipt


def _raise_problem(position: str, answer: gateway_client.GatewayResponse) -> NoReturn:
    """Raise the error for a problem that a gateway answers with."""
    from streams.ops.tlog.errors import TopicNotCovered

    detail = answer.body["detail"]
    match answer.body["rule"]:
        case "topic_not_covered":
            raise TopicNotCovered(detail)
        case "not_logged":
            raise _not_logged(detail)
        case "tlog_off":
            raise NotFound(detail, "tlog_off", advice="Set it there.")
    raise common.error_of_problem(answer.status, answer.body)


def _not_logged(message: str) -> Conflict:
    return Conflict(message, "not_logged", advice="`--wait S` waits for it.")


def _write_record(out: Path, receipt: Receipt, settings: Settings) -> None:
    """Write the record of a receipt beside it, read from Kafka.  Raises NotFound if it is gone."""
    from streams.engine.records import TopicPartition
    from streams.log.records import read_record
    from streams.ops.audit.segment import write_record

    entry = receipt.entry
    with common.connect(settings) as log:
        tp = TopicPartition(entry.topic, entry.partition)
        record = read_record(log, tp, str(entry.offset))
    write_record(out.with_name(f"{out.name}.record.json"), record)
