"""The command `headrace audit check`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schemas.formats import iso_ms
from streams.cli import common, text
from streams.errors import UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.cli.text import Page
    from streams.ops.tlog.policy import Cosignature, Policy
    from streams.ops.tlog.receipt import ReceiptCheck

_FILE = click.Path(dir_okay=False, path_type=Path)
_MAX_TIME_MS = 253_402_300_799_999
_RECORDS = {"matches": "is the one that was logged", "differs": "is not the one that was logged"}


@click.command("check")
@click.argument("receipt", type=_FILE)
@click.option(
    "--policy",
    "policy_file",
    type=_FILE,
    metavar="FILE",
    help="Accept the logs of this policy, and its quorum.  [default: HEADRACE_TLOG_POLICY]",
)
@click.option(
    "--record", "record_file", type=_FILE, metavar="FILE", help="Compare this record with it."
)
@click.option(
    "--against", "url", metavar="URL", help="Check that the log at this URL begins with its tree."
)
@text.options
@click.pass_context
def check(
    ctx: click.Context,
    receipt: Path,
    policy_file: Path | None,
    record_file: Path | None,
    url: str | None,
) -> None:
    """Check a receipt: that a record was in a transparency log.

    RECEIPT is a file of the format tlog-proof, with a checkpoint that the quorum of the policy has
    cosigned.  Needs no broker and, but for --against, no network.  Exits with 1 and a code if it
    does not hold.

    URL is where the log is served, what stands before `/checkpoint`.  If that log is shorter than
    the receipt's, or another, both checkpoints are printed on stderr.

    \b
    Examples:
      headrace audit check fact.tlog-proof --policy auditor.pem.policy
      headrace audit check fact.tlog-proof --record fact.tlog-proof.record.json --json
      headrace audit check fact.tlog-proof --against https://hr.example.com/tlog
    """
    from streams.ops.tlog.receipt import check_receipt

    record = None
    if record_file is not None:
        from streams.ops.audit.segment import read_record

        record = read_record(record_file)
    policy = load_chosen_policy(policy_file)
    result = check_receipt(_read(receipt), policy, record)
    if url is not None and result.fault is None:
        result = _compare_with_log(result, policy, url)
    text.show(_as_json(result), partial(_render, quorum_met=result.quorum_met), pipe=None)
    if result.fault is not None:
        ctx.exit(1)


def _compare_with_log(result: ReceiptCheck, policy: Policy, url: str) -> ReceiptCheck:
    """Return the result for a receipt that holds, held against its log as it is now."""
    from streams.ops.tlog.policy import parse_url
    from streams.ops.tlog.remote import RemoteLog, compare_with_log

    try:
        address = parse_url(url)
    except ValueError as exc:
        raise UsageError(f"--against: {exc}") from exc
    assert result.receipt is not None
    with RemoteLog(address) as remote:
        comparison = compare_with_log(result.receipt, policy, remote)
    if comparison.fault is None:
        return replace(result, detail=f"{result.detail}; {comparison.detail}")
    for note in (result.receipt.note, comparison.note):
        common.echo_block(note.encode().decode(), err=True)
    return replace(result, fault=comparison.fault, detail=comparison.detail)


def load_chosen_policy(path: Path | None) -> Policy:
    """Return the policy of a file, or else of the settings.  Raises UsageError, PolicyInvalid."""
    from streams.ops.tlog.policy import load_policy

    chosen = path or Settings.load().tlog_policy
    if chosen is None:
        raise UsageError("give --policy FILE, or set HEADRACE_TLOG_POLICY")
    return load_policy(chosen)


def _read(path: Path) -> bytes:
    """Read a receipt, and no more of it than one byte above the limit."""
    from streams.ops.tlog.receipt import MAX_RECEIPT_BYTES

    try:
        with path.open("rb") as file:
            return file.read(MAX_RECEIPT_BYTES + 1)
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}") from exc


def _as_json(result: ReceiptCheck) -> dict[str, Any]:
    """Return the members of the JSON form; those of a malformed receipt are null."""
    receipt = result.receipt
    entry = None if receipt is None else receipt.entry
    return {
        "holds": result.fault is None,
        "code": result.fault,
        "detail": result.detail,
        "origin": receipt and receipt.checkpoint.origin,
        "index": receipt and receipt.index,
        "size": receipt and receipt.checkpoint.size,
        "entry": receipt and receipt.line.decode(),
        "position": entry and entry.position,
        "timestamp": entry and entry.timestamp,
        "sha256": entry and entry.sha256,
        "hashes": receipt and len(receipt.hashes),
        "cosigned": [_cosigned(each) for each in result.cosignatures],
        "quorum": result.quorum,
        "record": result.record,
    }


def _cosigned(cosignature: Cosignature) -> dict[str, str]:
    at = iso_ms(cosignature.at_s * 1000).replace(".000Z", "Z")
    return {"name": cosignature.name, "at": at}


def _render(body: dict[str, Any], page: Page, quorum_met: bool) -> None:
    def line(name: str, value: str) -> None:
        page.line(f"{name:<9}", page.plain(value))

    if body["holds"]:
        line("holds", body["detail"])
    else:
        line("fails", f"{body['code']}: {body['detail']}")
    if body["origin"] is None:
        return
    tree = f"index {body['index']} of {body['size']}, {body['hashes']} hashes"
    line("log", f"{body['origin']}, {tree}")
    timestamp = body["timestamp"]
    line("recorded", iso_ms(timestamp) if timestamp <= _MAX_TIME_MS else f"{timestamp} ms")
    line("sha256", body["sha256"])
    line("cosigned", _render_cosigned(body, quorum_met))
    if body["record"] in _RECORDS:
        line("record", _RECORDS[body["record"]])


def _render_cosigned(body: dict[str, Any], quorum_met: bool) -> str:
    names = ", ".join(f"{each['name']} {each['at']}" for each in body["cosigned"]) or "by nobody"
    if body["quorum"] == "none":
        return f"{names}; quorum none"
    return f"{names}; quorum {body['quorum']} {'is met' if quorum_met else 'is not met'}"
