"""The table of commands: the module of each, and its line in `--help`.

Data only; the names of topics and kinds are plain strings, since `--help` may load neither schemas
nor topology.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """The module of a command, its line in the list of commands, and its name in the module."""

    module: str
    help: str
    attribute: str = "command"


class CommandGroup(NamedTuple):
    """The commands `headrace GROUP VERB`.

    example: the arguments of one that is typical.
    old: verbs of 0.2 that still work, hidden, and those that replace them.
    """

    help: str
    example: str
    commands: Mapping[str, CommandEntry]
    old: Mapping[str, str] = {}


class ProtocolCommands(NamedTuple):
    """The commands of one protocol.

    topics, kinds: what `send` and `validate` accept, as their help lists it.
    aliases: other names of commands, which `--help` lists.  old: names of 0.2, hidden.
    """

    protocol: str
    groups: Mapping[str, CommandGroup]
    topics: Sequence[str]
    kinds: Sequence[str]
    aliases: Mapping[str, str] = {}
    old: Mapping[str, str] = {}


_APC = ProtocolCommands(
    "apc",
    {
        "apc": CommandGroup(
            "Query APC packets, runs and protocols; judge packets offline.",
            "apc trace --session-id sess-01",
            {
                "trace": CommandEntry("apc.trace", "Show packets and their histories."),
                "replay": CommandEntry("apc.replay", "Show a run's packets and every transition."),
                "explain": CommandEntry(
                    "apc.explain", "Explain a packet's verdict; try what-if values."
                ),
                "sessions": CommandEntry(
                    "apc.figures", "Show sessions, and how many packets they have.", "sessions"
                ),
                "lineage": CommandEntry(
                    "apc.lineage", "Show how protocols spread, and their effectiveness."
                ),
                "coordination": CommandEntry(
                    "apc.figures", "Show what a session's coordination came to.", "coordination"
                ),
                "throttling": CommandEntry(
                    "apc.figures", "Show receivers, and how many places are left.", "throttling"
                ),
                "decisions": CommandEntry(
                    "apc.figures", "Show decays, recoveries and arbitrations.", "decisions"
                ),
                "protocols": CommandEntry(
                    "apc.protocols", "Show protocols over all runs, blocked ones marked."
                ),
                "priors": CommandEntry(
                    "apc.priors", "Show how the attempts of methods and protocols ended."
                ),
                "arbitrate": CommandEntry("apc.arbitrate", "Rank unsent transfers, offline."),
                "evaluate": CommandEntry(
                    "apc.evaluate", "Check metrics against the promotion gates, offline."
                ),
            },
        ),
    },
    topics=("apc.packets",),
    kinds=("apc.packet",),
    aliases={
        "packet-trace": "apc trace",
        "packet-replay": "apc replay",
        "packet-lineage-summary": "apc lineage",
        "packet-transfer-arbitrate": "apc arbitrate",
    },
    old={"packet-explain": "apc explain", "packet-evaluate": "apc evaluate"},
)
_SAOP = ProtocolCommands(
    "saop",
    {
        "saop": CommandGroup(
            "Query turns, tasks, escalations and thoughts; pause tasks, rewind a session.",
            "saop tasks --session s-9",
            {
                "sessions": CommandEntry("saop.queries", "Show what sessions come to.", "sessions"),
                "tasks": CommandEntry("saop.queries", "Show tasks and their states.", "tasks"),
                "turns": CommandEntry("saop.queries", "Show the turns of a task.", "turns"),
                "escalations": CommandEntry(
                    "saop.queries", "Show agents and tasks that need attention.", "escalations"
                ),
                "audit": CommandEntry(
                    "saop.queries", "Compare streamed thoughts with those of turns.", "audit"
                ),
                "rewinds": CommandEntry("saop.queries", "Show rewinds of sessions.", "rewinds"),
                "pause": CommandEntry(
                    "saop.controls", "Pause a task until an operator resumes it.", "pause"
                ),
                "resume": CommandEntry("saop.controls", "Resume a task that is paused.", "resume"),
                "rewind": CommandEntry(
                    "rewind", "Reset a session and its git work tree to a commit."
                ),
            },
        ),
        "rtes": CommandGroup(
            "Query events, tool calls and rejected events; mask secrets.",
            "rtes calls --session s-9 --open",
            {
                "events": CommandEntry("saop.rtes", "Show the events of a session.", "events"),
                "calls": CommandEntry("saop.rtes", "Show the tool calls of a session.", "calls"),
                "rejections": CommandEntry(
                    "saop.rtes", "Show duplicate and rejected events.", "rejections"
                ),
                "mask": CommandEntry("mask", "Replace secrets in lines of text, offline."),
            },
        ),
    },
    topics=("saop.turns", "rtes.raw", "saop.rewinds", "saop.controls"),
    kinds=("saop.turn", "saop.rewind", "saop.control", "rtes.event", "rtes.payload"),
    old={"rewind": "saop rewind", "mask": "rtes mask"},
)
_SAP = ProtocolCommands(
    "sap",
    {
        "sap": CommandGroup(
            "Query SAP tasks, their outcomes, the cache and what was learned.",
            "sap show 7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a",
            {
                "tasks": CommandEntry("sap.tasks", "Show tasks."),
                "show": CommandEntry("sap.show", "Show a task, its verdicts and its outcomes."),
                "result": CommandEntry("sap.result", "Show an outcome of a task."),
                "explain": CommandEntry(
                    "sap.explain", "Explain the verdict on a task, check by check."
                ),
                "cache": CommandEntry(
                    "sap.cache", "Show and verify cached results, or compute a task's key."
                ),
                "learning": CommandEntry(
                    "sap.learning", "Show what the service learned about a capability."
                ),
                "librarian": CommandEntry(
                    "sap.librarian", "Show playbooks, each with its punch-card."
                ),
                "punch-card": CommandEntry(
                    "sap.librarian", "Show the task snippets of a playbook.", "punch_card"
                ),
                "heuristics": CommandEntry(
                    "sap.learning", "Show the values derived from that.", "heuristics_command"
                ),
            },
        ),
    },
    topics=("sap.tasks", "sap.results", "sap.signals"),
    kinds=("sap.task", "sap.result", "sap.signal"),
    old={
        "sap-task": "sap show",
        "sap-result": "sap result",
        "sap-explain": "sap explain",
        "sap-cache": "sap cache",
        "sap-learning": "sap learning",
    },
)
_ASAP = ProtocolCommands(
    "asap",
    {
        "asap": CommandGroup(
            "Query ASAP tasks and their agents; send a task.",
            "asap tasks --status working",
            {
                "tasks": CommandEntry("asap.queries", "Show tasks.", "tasks"),
                "show": CommandEntry("asap.queries", "Show a task, and its response.", "show"),
                "events": CommandEntry("asap.queries", "Show the events of a task.", "events"),
                "snapshots": CommandEntry(
                    "asap.queries", "Show the saved states of a task.", "snapshots"
                ),
                "messages": CommandEntry(
                    "asap.queries", "Show the messages between a task's agents.", "messages"
                ),
                "conversations": CommandEntry(
                    "asap.queries", "Show conversations.", "conversations"
                ),
                "agents": CommandEntry("asap.queries", "Show the manifests in force.", "agents"),
                "request": CommandEntry(
                    "asap.send", "Send a task, and print the reply.", "request"
                ),
                "manifest": CommandEntry("asap.send", "Register agents.", "manifest"),
                "key": CommandEntry("asap.send", "Print the record key of an envelope.", "key"),
                "schemas": CommandEntry("asap.send", "Export the JSON Schemas.", "schemas"),
            },
            old={"task": "show"},
        ),
    },
    topics=("asap.envelopes", "asap.manifests"),
    kinds=("asap.envelope", "asap.manifest"),
)
_SUMMIT = ProtocolCommands(
    "summit",
    {
        "summit": CommandGroup(
            "Register and call Summit agents; query runs and their evidence.",
            "summit runs --state failed",
            {
                "register": CommandEntry("summit.register", "Register agents by manifests."),
                "withdraw": CommandEntry("summit.withdraw", "Withdraw an agent."),
                "agents": CommandEntry("summit.agents", "Show agents."),
                "schema": CommandEntry(
                    "summit.schema", "Show the input and output schemas of an agent."
                ),
                "tools": CommandEntry("summit.tools", "Show the tools of agents."),
                "invoke": CommandEntry("summit.invoke", "Call an agent, and wait for the result."),
                "call-tool": CommandEntry("summit.call_tool", "Call a tool of an agent."),
                "cancel": CommandEntry("summit.cancel", "Cancel a run."),
                "show": CommandEntry("summit.show", "Show the state of a run."),
                "judge": CommandEntry("summit.judge", "Review a run, as a critic."),
                "runs": CommandEntry("summit.runs", "Show runs."),
                "tree": CommandEntry("summit.tree", "Show a run and the runs below it."),
                "verify": CommandEntry("summit.verify", "Recompute and check the hashes of a run."),
            },
        ),
    },
    topics=("summit.manifests (YAML too)", "summit.calls", "summit.replies"),
    kinds=("summit.manifest (YAML too)", "summit.call", "summit.reply"),
    old={
        "summit-register": "summit register",
        "summit-withdraw": "summit withdraw",
        "summit-agents": "summit agents",
        "summit-schema": "summit schema",
        "summit-tools": "summit tools",
        "summit-invoke": "summit invoke",
        "summit-call-tool": "summit call-tool",
        "summit-cancel": "summit cancel",
        "summit-status": "summit show",
        "summit-judge": "summit judge",
        "summit-runs": "summit runs",
        "summit-verify": "summit verify",
    },
)
_OTEL = ProtocolCommands(
    "otel",
    {
        "otel": CommandGroup(
            "Query traces and spans of instrumented programs.",
            "otel trace 4bf92f3577b34da6a3ce929d0e0e4736",
            {
                "trace": CommandEntry("otel.traces", "Show the spans of a trace.", "trace"),
                "traces": CommandEntry("otel.traces", "Show traces.", "traces"),
                "rejections": CommandEntry("otel.traces", "Show refused spans.", "rejections"),
            },
        ),
    },
    topics=("otel.spans",),
    kinds=("otel.span",),
)
BY_PROTOCOL = (_APC, _SAOP, _SAP, _ASAP, _SUMMIT, _OTEL)
"""The protocols, in the order of `streams.protocols.queries`."""

SECTIONS: Mapping[str, Mapping[str, CommandEntry | CommandGroup]] = {
    "Start": {
        "up": CommandEntry(
            "up", "Run everything on this machine: broker, topics, worker, gateway."
        ),
        "demo": CommandEntry("demo", "Watch packets go through the whole system."),
        "send": CommandEntry("send", "Send JSON to a topic."),
        "mcp": CommandEntry("mcp", "Serve MCP over standard input and output."),
        "a2a": CommandEntry("a2a", "Show the agents that can be called by A2A."),
        "doctor": CommandEntry("doctor", "Check the installation, and say what to do."),
        "completion": CommandEntry(
            "completion", "Print the shell completion script of this command."
        ),
    },
    "Look": {
        "overview": CommandEntry("overview", "Show what was decided lately, is open, and lags."),
        "watch": CommandEntry("watch", "Watch all of it live in a terminal."),
        "verdicts": CommandEntry("rulings", "Show refused and duplicate records.", "verdicts"),
        "agents": CommandEntry("rulings", "Show who sends, and what becomes of it.", "agents"),
        "search": CommandEntry("rulings", "Find anything by an id or its beginning.", "search"),
        "show": CommandEntry("show", "Show one thing of any protocol, its steps and why."),
        "explain": CommandEntry("explain", "Show why a verdict is so, and prove it."),
        "trace": CommandEntry("trace", "Show what came of a trace in all protocols."),
        "tail": CommandEntry("tail", "Follow a topic, decoded."),
        "lineage": CommandEntry("lineage", "Show the lineage graph over all protocols."),
        "query": CommandEntry("query", "Run a query of the HTTP API."),
    },
    "Protocols": {name: group for each in BY_PROTOCOL for name, group in each.groups.items()},
    "Prove": {
        "verify": CommandEntry("verify", "Verify the log: answers, verdicts, rows."),
        "audit": CommandEntry("audit", "Sign facts with checkpoints, and prove them unchanged."),
        "play": CommandEntry("play", "Run a scenario on the in-memory log, offline."),
        "policy": CommandEntry("policy", "Check, compare and show what decides."),
        "validate": CommandEntry("validate", "Check one envelope, offline."),
    },
    "Operate": {
        "worker": CommandEntry("worker", "Run a stream worker."),
        "gateway": CommandEntry("gateway", "Serve HTTP."),
        "broker": CommandEntry("broker", "Run a local Apache Kafka."),
        "topics": CommandEntry("topics", "Create, list and describe topics."),
        "ready": CommandEntry("ready", "Check whether a worker or a gateway is ready."),
        "tokens": CommandEntry("tokens", "Create, list and revoke the bearer tokens of a gateway."),
        "dlq": CommandEntry("dlq", "Show dead letters, and redrive them."),
        "subscriptions": CommandEntry(
            "subscriptions", "Show webhooks of MCP and push notifications of A2A."
        ),
        "sink": CommandEntry("sink", "Copy turns and events into a database file."),
        "export": CommandEntry("export", "Write topics as Parquet files, or send their spans."),
        "sql": CommandEntry("sql", "Ask the log in SQL."),
    },
}
"""The commands by section of `--help`, in its order."""

COMMANDS: Mapping[str, CommandEntry | CommandGroup] = {
    name: entry for section in SECTIONS.values() for name, entry in section.items()
}
ALIASES: Mapping[str, str] = {
    name: path for each in BY_PROTOCOL for name, path in each.aliases.items()
}
"""Other names of commands, which `--help` lists, and the names that they stand for."""
OLD: Mapping[str, str] = {name: path for each in BY_PROTOCOL for name, path in each.old.items()}
"""Names of 0.2 that work but are not listed."""

PROTOCOLS = tuple(each.protocol for each in BY_PROTOCOL)
SENT_TOPICS = tuple(topic for each in BY_PROTOCOL for topic in each.topics)
KINDS = tuple(kind for each in BY_PROTOCOL for kind in each.kinds)


def join_or(names: Sequence[str]) -> str:
    """Return `a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} or {last}"
