"""`headrace audit export`."""

from __future__ import annotations

from pathlib import Path

import click

from streams.cli import common
from streams.cli.audit_chains import find_covered, read_chains, read_facts
from streams.cli.audit_verify import check_logged, find_logged
from streams.errors import UsageError
from streams.settings import Settings


@click.command("export")
@click.argument("target", metavar="DIR|FILE", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Export the transparency log of this policy too.  [default: HEADRACE_TLOG_POLICY]",
)
@click.option(
    "--topic", "names", multiple=True, metavar="TOPIC", help="Only this topic; repeatable."
)
def export(target: Path, policy_file: Path | None, names: tuple[str, ...]) -> None:
    """Write facts with what proves them, to check them without a broker.

    With a policy, DIR gets `records.jsonl.gz`, the transparency log in `tlog` as any other program
    reads it, and `policy`.  Without one, FILE gets the facts and their chains of checkpoints, as
    JSON lines, compressed when its name ends in .gz.

    \b
    Examples:
      headrace audit export export --policy auditor.pem.policy
      headrace audit export facts.jsonl.gz --topic apc.events
    """
    settings = Settings.load()
    if (policy := policy_file or settings.tlog_policy) is not None:
        _export_log(settings, policy, target, names)
    else:
        _export_chains(settings, target, names)


def _export_log(
    settings: Settings, policy_file: Path, folder: Path, names: tuple[str, ...]
) -> None:
    from streams.ops.tlog.export import write_export
    from streams.ops.tlog.log_keys import choose_origin
    from streams.ops.tlog.policy import load_policy

    policy = load_policy(policy_file)
    origin = choose_origin(policy, settings.tlog_origin)
    check_logged(settings, names)
    with common.connect(settings) as log:
        tps = find_logged(log, settings, names)
        data = policy_file.read_bytes()
        counts = write_export(log, settings.prefix, policy, data, origin, tps, folder)
    common.echo(f"{folder}: {counts.records} records, and the log {origin} of {counts.entries}")


def _export_chains(settings: Settings, file: Path, names: tuple[str, ...]) -> None:
    from streams.ops.audit import segment

    if file.is_dir():
        raise UsageError(f"{file} is a folder, which needs --policy or HEADRACE_TLOG_POLICY")
    with common.connect(settings) as log:
        tps = find_covered(log, settings, names)
        counts = segment.write(file, read_chains(log, settings, tps), read_facts(log, tps))
    common.echo(f"{file}: {counts[1]} records and {counts[0]} checkpoints")
