"""The command `headrace audit monitor`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from schemas.formats import iso_ms
from streams.cli import common
from streams.cli.audit_check import load_chosen_policy
from streams.errors import LogUnavailable, NegativeAnswer, UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.ops.tlog.monitor import MonitorAlarmed, ObservedHead
    from streams.ops.tlog.policy import Policy

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("monitor")
@click.argument("url", metavar="URL")
@click.option(
    "--policy",
    "policy_file",
    type=_FILE,
    metavar="FILE",
    help="Accept the log of this policy, and its quorum.  [default: HEADRACE_TLOG_POLICY]",
)
@click.option(
    "--state",
    "state_file",
    type=_FILE,
    metavar="FILE",
    help="Keep the last checkpoint here.  [default: by the log's name in HEADRACE_STATE_DIR]",
)
@click.option(
    "--also", multiple=True, metavar="URL", help="The same log at another address; repeatable."
)
@click.option("--entries", "with_entries", is_flag=True, help="Read all new entries too.")
@click.option(
    "--max-age",
    "max_age_s",
    type=click.IntRange(1),
    metavar="S",
    help="Alarm if the newest cosignature is older than S seconds.",
)
@click.option(
    "--grace",
    "grace_s",
    type=click.IntRange(0),
    default=60,
    show_default=True,
    metavar="S",
    help="Seconds for which a log that has become shorter is asked again.",
)
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(0.1),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Seconds between two looks.",
)
@click.option("--once", is_flag=True, help="Look once, and stop.")
@click.option("--json", "as_json", is_flag=True, help="One look a line.")
def monitor(
    url: str,
    policy_file: Path | None,
    state_file: Path | None,
    also: tuple[str, ...],
    with_entries: bool,
    max_age_s: int | None,
    grace_s: int,
    every_s: float,
    once: bool,
    as_json: bool,
) -> None:
    """Check again and again that a transparency log only grows.

    URL is where the log is served, what stands before `/checkpoint`.  Needs no broker: it keeps the
    last checkpoint, and checks that the next one continues it and that its quorum has cosigned it.
    Ends with exit code 1 at the first alarm, with the checkpoints that show it beside the state.

    \b
    Examples:
      headrace audit monitor https://hr.example.com/tlog --policy auditor.pem.policy
      headrace audit monitor https://a.example/tlog --also https://b.example/tlog --once
    """
    from streams.ops.tlog.log_keys import choose_origin
    from streams.ops.tlog.monitor import LogMonitor, MonitorAlarmed
    from streams.ops.tlog.remote import RemoteLog

    settings = Settings.load()
    policy = load_chosen_policy(policy_file)
    origin = choose_origin(policy, settings.tlog_origin)
    state = state_file or settings.state_dir / "monitor" / quote(origin, safe="")
    previous = _read_state(state, policy, origin)
    with ExitStack() as stack:
        stopped = stack.enter_context(common.interrupts())
        remotes = [stack.enter_context(RemoteLog(_parse(each))) for each in (url, *also)]
        watched = LogMonitor(
            policy,
            origin,
            remotes,
            lambda: common.now_ms() / 1000,
            stopped.wait,
            grace_s,
            max_age_s,
            with_entries=with_entries,
        )
        while True:
            try:
                head = watched.look(previous)
            except LogUnavailable as exc:
                if once:
                    raise
                common.echo(str(exc), err=True)
            except MonitorAlarmed as exc:
                raise _keep_evidence(exc, state) from exc
            else:
                _print_look(previous, head, as_json)
                _write_state(state, head)
                previous = head
            if once or stopped.wait(every_s):
                return


def _parse(url: str) -> str:
    from streams.ops.tlog.policy import parse_url

    try:
        return parse_url(url)
    except ValueError as exc:
        raise UsageError(f"{url}: {exc}") from exc


def _read_state(path: Path, policy: Policy, origin: str) -> ObservedHead | None:
    """Return the checkpoint that was kept, None before the first look."""
    from streams.ops.tlog.heads import parse_head
    from streams.ops.tlog.monitor import ObservedHead

    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    head = parse_head(data, policy, origin)
    if head is None:
        raise UsageError(f"{path} has no checkpoint of {origin} that a key of the policy signed")
    return ObservedHead(head.note, head.checkpoint)


def _write_state(path: Path, head: ObservedHead) -> None:
    from streams.engine.durable_files import put_in_place

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.new")
    partial.write_bytes(head.note.encode())
    put_in_place(partial, path)


def _keep_evidence(alarmed: MonitorAlarmed, state: Path) -> NegativeAnswer:
    """Write the checkpoints that show an alarm beside the state, and return the error for it."""
    stamp = iso_ms(common.now_ms()).replace(":", "")
    path = state.with_name(f"{state.name}.evidence-{stamp}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(note.encode() for note in alarmed.notes))
    return NegativeAnswer(str(alarmed), advice=f"The checkpoints that show it are in {path}.")


def _print_look(previous: ObservedHead | None, head: ObservedHead, as_json: bool) -> None:
    from streams.ops.tlog.note import to_base64

    checkpoint, names = head.checkpoint, [each.name for each in head.cosignatures]
    first = 0 if previous is None else previous.checkpoint.size
    root = to_base64(checkpoint.root)
    if as_json:
        members = {
            "origin": checkpoint.origin,
            "first": first,
            "size": checkpoint.size,
            "root": root,
            "cosigners": names,
        }
        common.echo(common.json_line(members))
        return
    cosigned = f"cosigned by {' '.join(names)}" if names else "cosigned by nobody"
    common.echo(f"size {checkpoint.size} (+{checkpoint.size - first}) root {root} {cosigned}")
