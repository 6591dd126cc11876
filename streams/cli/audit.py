"""`headrace audit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams.cli import common, text
from streams.cli.audit_chains import find_covered, read_chains, read_facts, show_result
from streams.cli.audit_check import check
from streams.cli.audit_export import export
from streams.cli.audit_log import write_log
from streams.cli.audit_monitor import monitor
from streams.cli.audit_prove import prove
from streams.cli.audit_status import status
from streams.cli.audit_verify import verify_against_log, verify_exported
from streams.errors import UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.ops.audit import AuditResult, Keys

_FILE = click.Path(dir_okay=False, path_type=Path)
_topics = click.option(
    "--topic", "names", multiple=True, metavar="TOPIC", help="Only this topic; repeatable."
)


@click.group("audit")
def command() -> None:
    """Sign the facts with checkpoints, and prove that none was changed since.

    \b
    Example:
      headrace audit key auditor.pem
      HEADRACE_AUDIT_KEY=auditor.pem headrace audit write --once
      headrace audit verify --public-key auditor.pem.pub
    """


command.add_command(check)
command.add_command(export)
command.add_command(monitor)
command.add_command(prove)
command.add_command(status)


@command.command("key")
@click.argument("file", type=_FILE)
@click.option("--origin", metavar="ORIGIN", help="Also write the files of a log of this name.")
@click.option("--ml-dsa", is_flag=True, help="Make an ML-DSA-44 key; needs --origin.")
def key(file: Path, origin: str | None, ml_dsa: bool) -> None:
    """Create a key pair: FILE to sign with, FILE.pub to verify with.

    Keep FILE away from the machines that run workers and gateways, and give FILE.pub to those who
    check the facts.  Existing files are never replaced.

    ORIGIN names a transparency log, as a URL without scheme; no two environments have the same.
    With it, what is missing of FILE, FILE.pub, FILE.vkey (the key in one line, for witnesses and
    other programs) and FILE.policy (for `audit check`) is written.

    \b
    Examples:
      headrace audit key auditor.pem
      headrace audit key auditor.pem --origin hr.example.com/tlog
    """
    from streams.ops.audit import new_pair, public_path

    if origin is not None:
        _write_log_key(file, origin, ml_dsa)
        return
    if ml_dsa:
        raise UsageError("--ml-dsa needs --origin")
    pair = new_pair(file)
    common.show_members(
        {"private key": str(file), "public key": str(public_path(file)), "key_id": pair.id}
    )


def _write_log_key(file: Path, origin: str, ml_dsa: bool) -> None:
    from streams.ops.tlog.key_files import KeyFiles, write_log_key

    verifier = write_log_key(file, origin, ml_dsa)
    files = KeyFiles.of(file)
    common.show_members(
        {
            "private key": str(files.private),
            "public key": str(files.public),
            "verifier key": str(files.verifier),
            "policy": str(files.policy),
            "key_id": verifier.id,
        }
    )


@command.command("write")
@click.option("--once", is_flag=True, help="Write checkpoints for the existing records, and stop.")
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(0.1),
    default=10.0,
    show_default=True,
    metavar="S",
    help="Seconds between checkpoints.",
)
@click.option(
    "--previous-key",
    "previous",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="A public key that the signing key replaces; repeatable.",
)
@click.option(
    "--ignore-chains",
    is_flag=True,
    help="Begin a log without comparing the facts with earlier chains of checkpoints.",
)
@click.option(
    "--accept-gap",
    "gaps",
    multiple=True,
    metavar="TOPIC/PARTITION",
    help="Go on without the first records of this partition, which are gone; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="One checkpoint a line.")
def write(
    once: bool,
    every_s: float,
    previous: tuple[Path, ...],
    ignore_chains: bool,
    gaps: tuple[str, ...],
    as_json: bool,
) -> None:
    """Follow the facts and write one checkpoint for each partition with new records.

    Signs with the key in HEADRACE_AUDIT_KEY.  A second writer takes over, and the first stops;
    there is always one chain per partition.  Ctrl-C stops it.

    With HEADRACE_TLOG_POLICY it writes a transparency log instead: each record has one entry, and
    each round with new ones one checkpoint, over all partitions together, that is published once
    the quorum of witnesses in the policy has cosigned it.  With --once it exits with 1 if it has
    not.  Before its first entry it compares the facts with the chains of checkpoints that are
    there, and stops if they differ; their checkpoints get entries too.

    \b
    Examples:
      headrace audit write
      headrace audit write --once --json
    """
    settings = Settings.load()
    if settings.tlog_policy is not None:
        chains = None if ignore_chains else previous
        write_log(settings, once, every_s, gaps, chains, as_json)
    elif gaps or ignore_chains:
        option = "--accept-gap" if gaps else "--ignore-chains"
        raise UsageError(f"{option} needs HEADRACE_TLOG_POLICY")
    else:
        _write_chains(settings, once, every_s, previous, as_json)


def _write_chains(
    settings: Settings, once: bool, every_s: float, previous: tuple[Path, ...], as_json: bool
) -> None:
    from streams.ops.audit import AuditWriter, keys_of, signer
    from streams.ops.audit.writer import AT_ONCE

    signing = signer(settings.audit_key)
    with (
        common.interrupts() as stopped,
        common.connect(settings) as log,
        AuditWriter(log, settings, signing, common.now_ms, keys_of(previous)) as writer,
    ):
        while True:
            count = writer.read()
            for checkpoint in writer.seal():
                _print_checkpoint(checkpoint, as_json)
            more = count >= AT_ONCE
            if stopped.is_set() or (not more and (once or stopped.wait(every_s))):
                return


def _print_checkpoint(checkpoint: dict[str, Any], as_json: bool) -> None:
    if as_json:
        common.echo(common.json_line(checkpoint))
        return
    partition = f"{checkpoint['topic']}/{checkpoint['partition']}"
    common.echo(
        f"{partition}: checkpoint {checkpoint['sequence']} covers {checkpoint['records']} records"
        f" below {checkpoint['offset']}"
    )


@command.command("verify")
@click.option(
    "--public-key",
    "public_keys",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="A public key of an auditor; repeatable.  [default: HEADRACE_AUDIT_PUBLIC_KEY]",
)
@click.option(
    "--policy",
    "policy_file",
    type=_FILE,
    metavar="FILE",
    help="Compare with the transparency log of this policy.  [default: HEADRACE_TLOG_POLICY]",
)
@click.option(
    "--segment",
    type=click.Path(path_type=Path),
    metavar="DIR|FILE",
    help="Check this export, without a broker.",
)
@_topics
@text.options
@click.pass_context
def verify(
    ctx: click.Context,
    public_keys: tuple[Path, ...],
    policy_file: Path | None,
    segment: Path | None,
    names: tuple[str, ...],
) -> None:
    """Compare the facts with their signed checkpoints.

    Finds records that were changed, removed, moved or added, and reports their range of offsets.
    Lists the records that no checkpoint covers: nothing shows whether they were changed.  Exits
    with 1 when there are violations, when there is no checkpoint, or when records have had none
    for more than ten minutes.

    With a policy, compares each record with its entry in the transparency log, and the log with
    every published checkpoint; with --public-key the chains of checkpoints too.  Exits with 1 when
    there are violations, or when no checkpoint is published.  The export of a log is a folder, and
    is compared with the checkpoint in it.

    \b
    Examples:
      headrace audit verify --public-key auditor.pem.pub
      headrace audit verify --policy auditor.pem.policy
      headrace audit verify --policy auditor.pem.policy --segment export
    """
    from streams.ops.audit import keys_of

    if segment is not None and segment.is_dir():
        if public_keys:
            raise UsageError("--public-key is for exports of chains, which are files")
        if not verify_exported(segment, policy_file or Settings.load().tlog_policy, names):
            ctx.exit(1)
        return
    settings = Settings.load()
    if segment is None and (policy := policy_file or settings.tlog_policy) is not None:
        chains = _verify_chains(settings, names, keys_of(public_keys)) if public_keys else None
        if not verify_against_log(settings, policy, names, chains.findings if chains else ()):
            ctx.exit(1)
        return
    if policy_file is not None:
        raise UsageError("--policy is not for exports of chains, which are files")
    files = public_keys or tuple(filter(None, [settings.audit_public_key]))
    if not files:
        raise UsageError("give --public-key FILE, or set HEADRACE_AUDIT_PUBLIC_KEY")
    pinned = keys_of(files)
    if segment is not None:
        result = _verify_segment(segment, names, pinned)
    else:
        result = _verify_chains(settings, names, pinned)
    show_result(result)
    covered = any(partition.sequence for partition in result.partitions)
    if result.findings or not covered or result.overdue(common.now_ms()):
        ctx.exit(1)


def _verify_segment(path: Path, names: tuple[str, ...], pinned: Keys) -> AuditResult:
    from streams.ops.audit import segment
    from streams.ops.audit import verify as check

    export = segment.read(path)
    chains = [each for each in export.checkpoints if not names or each["topic"] in names]
    records = (each for each in export.records if not names or each.topic in names)
    return check(records, chains, (), pinned)


def _verify_chains(settings: Settings, names: tuple[str, ...], pinned: Keys) -> AuditResult:
    from streams.ops.audit import verify as check

    with common.connect(settings) as log:
        tps = find_covered(log, settings, names)
        return check(read_facts(log, tps), read_chains(log, settings, tps), tps, pinned)
