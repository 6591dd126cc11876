"""The command line.  Commands are imported when they are used, so that `--help` is quick."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import NamedTuple

import click

from streams.errors import HeadraceError, InfrastructureError, TokensMissing

INTERRUPTED = 130


class Lazy(NamedTuple):
    """Where a command lives, and its line in the list of commands."""

    module: str
    help: str


COMMANDS = {
    "up": Lazy("up", "Run everything on this machine: broker, topics, worker, gateway."),
    "demo": Lazy("demo", "Watch packets go through the whole system."),
    "send": Lazy("send", "Send JSON to a topic."),
    "tail": Lazy("tail", "Follow a stream, decoded."),
    "query": Lazy("query", "Ask any read route."),
    "packet-trace": Lazy("apc.packet_trace", "Show packets and their histories."),
    "packet-replay": Lazy("apc.packet_replay", "Show a run, packet by packet and step by step."),
    "packet-explain": Lazy("apc.packet_explain", "Show why a packet was judged so, and what if."),
    "packet-lineage-summary": Lazy(
        "apc.packet_lineage_summary", "Show how protocols spread and how well they do."
    ),
    "packet-transfer-arbitrate": Lazy(
        "apc.packet_transfer_arbitrate", "Rank transfers that are not sent, offline."
    ),
    "packet-evaluate": Lazy("apc.packet_evaluate", "Hold metrics against the gates, offline."),
    "saop": Lazy("saop.group", "Ask about turns, tasks, escalations and thoughts."),
    "rtes": Lazy("saop.rtes", "Ask about tool calls and refused events."),
    "sap-task": Lazy("sap.task", "Show a SAP task, its verdicts and its outcomes."),
    "sap-result": Lazy("sap.result", "Show an outcome of a SAP task."),
    "sap-explain": Lazy("sap.explain", "Show why a SAP task was judged so, check by check."),
    "sap-cache": Lazy("sap.cache", "Show and verify vetted answers, or compute a task's key."),
    "sap-learning": Lazy("sap.learning", "Show what was learned of a capability."),
    "asap": Lazy("asap.group", "Ask about ASAP tasks, send one, register agents."),
    "summit-register": Lazy("summit.register", "Register agents of Summit by their manifests."),
    "summit-withdraw": Lazy("summit.withdraw", "Withdraw an agent of Summit."),
    "summit-agents": Lazy("summit.agents", "Show agents of Summit."),
    "summit-schema": Lazy("summit.schema", "Show what an agent of Summit takes and gives."),
    "summit-tools": Lazy("summit.tools", "Show the tools that agents of Summit offer."),
    "summit-invoke": Lazy("summit.invoke", "Let an agent of Summit run, and wait for the result."),
    "summit-call-tool": Lazy("summit.call_tool", "Use a tool of an agent of Summit."),
    "summit-cancel": Lazy("summit.cancel", "Cancel a run of Summit."),
    "summit-status": Lazy("summit.status", "Show where a run of Summit stands."),
    "summit-judge": Lazy("summit.judge", "Judge a run of Summit, as a critic."),
    "summit-runs": Lazy("summit.runs", "Show runs of Summit."),
    "summit-verify": Lazy("summit.verify", "Compute the hashes of a run of Summit anew."),
    "lineage": Lazy("lineage", "Show what came of what, over all protocols."),
    "rewind": Lazy("rewind", "Turn a session and its git work tree back to a commit."),
    "sink": Lazy("sink", "Copy turns and events into a database file."),
    "validate": Lazy("validate", "Check one envelope, offline."),
    "mask": Lazy("mask", "Replace secrets in lines of text, offline."),
    "play": Lazy("play", "Run a scenario on the in-memory log, offline."),
    "worker": Lazy("worker", "Run a stream worker."),
    "gateway": Lazy("gateway", "Serve HTTP."),
    "tokens": Lazy("tokens", "Make, list and revoke the bearer tokens of a gateway."),
    "ready": Lazy("ready", "Ask a worker or a gateway whether it is ready."),
    "topics": Lazy("topics", "Create, list and describe topics."),
    "broker": Lazy("broker", "Run a local Apache Kafka."),
    "verify": Lazy("verify", "Verify the log: answers, verdicts, rows."),
    "doctor": Lazy("doctor", "Check what is needed, and say what to do."),
    "completion": Lazy("completion", "Print the shell's completion of this command."),
    "audit": Lazy("audit", "Seal facts with signed checkpoints, and prove them unchanged."),
    "dlq": Lazy("dlq", "Look at dead letters, and send them back."),
}


class Loaded(MutableMapping[str, click.Command]):
    """Commands by name, each imported when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        command: click.Command = import_module(f"streams.cli.{COMMANDS[name].module}").command
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __setitem__(self, name: str, command: click.Command) -> None:
        raise TypeError("commands are declared in COMMANDS")

    def __delitem__(self, name: str) -> None:
        raise TypeError("commands are declared in COMMANDS")


class Commands(click.Group):
    """Turns errors into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.help) for name, lazy in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except HeadraceError as exc:
            shown = isinstance(exc, InfrastructureError | TokensMissing)
            code = f"{exc.code}: " if shown else ""
            click.echo(f"headrace: {code}{exc}", err=True)
            ctx.exit(exc.exit_code)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.command(
    cls=Commands,
    commands=Loaded(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="headrace")
def main() -> None:
    """An event-sourced governance log for fleets of AI agents.

    Settings come from the environment (HEADRACE_…).  Exit codes: 0 done, 1 a negative answer,
    2 usage, 3 infrastructure, 130 interrupted.

    \b
    Example:
      headrace up
    """
