"""The commands `headrace saop` that query the views."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import common, lists
from streams.cli.commands import PROTOCOLS
from streams.cli.saop import tables

_AGENTS = click.Choice(["researcher", "architect", "developer", "reviewer"])
_DETECTORS = click.Choice(["confidence", "repetition", "failures"])
_REWIND_STATES = click.Choice(["prepared", "applied", "aborted", "lapsed"])
_ORIGINS = click.Choice(sorted(set(PROTOCOLS) - {"saop"}))

_TURN = lists.columns(
    *("turn.turn_index", "turn.agent_id", "turn.metadata.confidence", "held"),
    *("gap.missing_from", "gap.missing_to", "at"),
)
_TASK = lists.columns(
    "session_id", "task_id", "origin", "state", "head_hash", "failures", "last_at"
)
_SESSION = lists.columns(
    *("session_id", "last_sequence", "current_task", "tasks_by_state", "events_by_type"),
    *("duplicates", "rejected", "last_recorded_at"),
)
_ESCALATION = lists.columns(
    *("at", "task_id", "session_id", "agent_id", "turn_index", "detector", "rules", "outcome")
)
_REWIND = lists.columns(
    *("at", "rewind_id", "session_id", "state", "target_task_id", "git_hash", "requested_by")
)
_AUDIT = lists.columns(
    *("task_id", "session_id", "turn_index", "agent_id", "status", "reason"),
    *("chunks", "first_difference"),
)


@click.command("sessions")
@click.option("--session", "session_id", metavar="ID", help="This session.")
@lists.window_options("With events")
@click.option("--order", type=click.Choice(["name", "latest"]), help="Which come first.")
@lists.options
@common.as_of_option
def sessions(**params: Any) -> None:
    """Show what each session comes to: tasks by state, turns and escalations.

    --as-of needs one session: give --session.

    \b
    Example:
      headrace saop sessions --session s-9
    """
    lists.show("/v1/saop/sessions", "sessions", _SESSION, text_table=tables.SESSIONS, **params)


@click.command("turns")
@click.option("--task", "task_id", metavar="ID", required=True, help="Turns of this task.")
@click.option("--turn-index", type=click.IntRange(0), metavar="N", help="This turn.")
@click.option("--from-index", type=click.IntRange(0), metavar="N", help="This turn and later.")
@click.option("--agent", "agent_id", type=_AGENTS, help="Turns of this agent.")
@lists.options
def turns(**params: Any) -> None:
    """Show the logged turns of a task, by turn index.

    \b
    Example:
      headrace saop turns --task paint-7 --from-index 3 --json
    """
    lists.show("/v1/saop/turns", "turns", _TURN, text_table=tables.TURNS, **params)


@click.command("tasks")
@click.option("--session", "session_id", metavar="ID", help="Tasks of this session.")
@click.option("--task", "task_id", metavar="ID", help="This task, in any session.")
@click.option("--state", metavar="STATE", help="Tasks in this state.")
@click.option("--origin", type=_ORIGINS, help="Tasks that this protocol's processor reported.")
@lists.options
@common.as_of_option
def tasks(**params: Any) -> None:
    """Show tasks and their states, by session and task.

    --as-of needs one task: give --session and --task.

    \b
    Example:
      headrace saop tasks --session s-9 --state FAILED
    """
    lists.show("/v1/saop/tasks", "tasks", _TASK, text_table=tables.TASKS, **params)


@click.command("escalations")
@click.option("--task", "task_id", metavar="ID", help="Escalations of this task.")
@click.option("--session", "session_id", metavar="ID", help="Escalations of this session.")
@click.option("--agent", "agent_id", type=_AGENTS, help="Escalations of this agent.")
@click.option("--detector", type=_DETECTORS, help="Escalations of this detector.")
@lists.options
def escalations(**params: Any) -> None:
    """Show agents and tasks that need attention, the newest first.

    \b
    Example:
      headrace saop escalations --agent developer --limit 10
    """
    table = tables.ESCALATIONS
    lists.show("/v1/saop/escalations", "escalations", _ESCALATION, text_table=table, **params)


@click.command("rewinds")
@click.option("--session", "session_id", metavar="ID", help="Rewinds of this session.")
@click.option("--task", "task_id", metavar="ID", help="Rewinds to a commit of this task.")
@click.option("--state", type=_REWIND_STATES, help="Rewinds in this state.")
@lists.window_options("First ordered")
@lists.options
def rewinds(**params: Any) -> None:
    """Show rewinds of sessions and their states, the newest first.

    \b
    Example:
      headrace saop rewinds --session s-9 --state prepared
    """
    lists.show("/v1/saop/rewinds", "rewinds", _REWIND, text_table=tables.REWINDS, **params)


@click.command("audit")
@click.option("--task", "task_id", metavar="ID", help="Turns of this task.")
@click.option("--session", "session_id", metavar="ID", help="Streams and tasks of this session.")
@lists.options
def audit(**params: Any) -> None:
    """Compare the thoughts that agents streamed with those in their turns.

    Give one of --task and --session.

    \b
    Example:
      headrace saop audit --session s-9
    """
    lists.show("/v1/saop/thought-audit", "thoughts", _AUDIT, text_table=tables.AUDIT, **params)
