"""The table of commands: the module of each, and its line in `--help`.

Data only; the names of topics and kinds are plain strings, since `--help` may load neither schemas
nor topology.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """The module of a command, and its line in the list of commands."""

    module: str
    help: str


class ProtocolCommands(NamedTuple):
    """The commands of one protocol.

    topics, kinds: what `send` and `validate` accept, as their help lists it.
    """

    protocol: str
    commands: Mapping[str, CommandEntry]
    topics: Sequence[str]
    kinds: Sequence[str]


_APC = ProtocolCommands(
    "apc",
    {
        "packet-trace": CommandEntry("apc.packet_trace", "Show packets and their histories."),
        "packet-replay": CommandEntry(
            "apc.packet_replay", "Show a run's packets and every transition."
        ),
        "packet-explain": CommandEntry(
            "apc.packet_explain", "Explain a packet's verdict; try what-if values."
        ),
        "packet-lineage-summary": CommandEntry(
            "apc.packet_lineage_summary", "Show how protocols spread, and their effectiveness."
        ),
        "packet-transfer-arbitrate": CommandEntry(
            "apc.packet_transfer_arbitrate", "Rank unsent transfers, offline."
        ),
        "packet-evaluate": CommandEntry(
            "apc.packet_evaluate", "Check metrics against the promotion gates, offline."
        ),
    },
    topics=("apc.packets",),
    kinds=("apc.packet",),
)
_SAOP = ProtocolCommands(
    "saop",
    {
        "saop": CommandEntry("saop.group", "Query turns, tasks, escalations and thoughts."),
        "rtes": CommandEntry("saop.rtes", "Query tool calls and rejected events."),
    },
    topics=("saop.turns", "rtes.raw", "saop.rewinds"),
    kinds=("saop.turn", "saop.rewind", "rtes.event", "rtes.payload"),
)
_SAP = ProtocolCommands(
    "sap",
    {
        "sap-task": CommandEntry("sap.task", "Show a SAP task, its verdicts and its outcomes."),
        "sap-result": CommandEntry("sap.result", "Show an outcome of a SAP task."),
        "sap-explain": CommandEntry(
            "sap.explain", "Explain the verdict on a SAP task, check by check."
        ),
        "sap-cache": CommandEntry(
            "sap.cache", "Show and verify cached results, or compute a task's key."
        ),
        "sap-learning": CommandEntry(
            "sap.learning", "Show what the service learned about a capability."
        ),
    },
    topics=("sap.tasks", "sap.results", "sap.signals"),
    kinds=("sap.task", "sap.result", "sap.signal"),
)
_ASAP = ProtocolCommands(
    "asap",
    {"asap": CommandEntry("asap.group", "Query ASAP tasks, send one, register agents.")},
    topics=("asap.envelopes", "asap.manifests"),
    kinds=("asap.envelope", "asap.manifest"),
)
_SUMMIT = ProtocolCommands(
    "summit",
    {
        "summit-register": CommandEntry(
            "summit.register", "Register Summit agents by their manifests."
        ),
        "summit-withdraw": CommandEntry("summit.withdraw", "Withdraw a Summit agent."),
        "summit-agents": CommandEntry("summit.agents", "Show Summit agents."),
        "summit-schema": CommandEntry(
            "summit.schema", "Show the input and output schemas of a Summit agent."
        ),
        "summit-tools": CommandEntry("summit.tools", "Show the tools of Summit agents."),
        "summit-invoke": CommandEntry(
            "summit.invoke", "Call a Summit agent, and wait for the result."
        ),
        "summit-call-tool": CommandEntry("summit.call_tool", "Call a tool of a Summit agent."),
        "summit-cancel": CommandEntry("summit.cancel", "Cancel a Summit run."),
        "summit-status": CommandEntry("summit.status", "Show the state of a Summit run."),
        "summit-judge": CommandEntry("summit.judge", "Review a Summit run, as a critic."),
        "summit-runs": CommandEntry("summit.runs", "Show Summit runs."),
        "summit-verify": CommandEntry(
            "summit.verify", "Recompute and check the hashes of a Summit run."
        ),
    },
    topics=("summit.manifests (YAML too)", "summit.calls", "summit.replies"),
    kinds=("summit.manifest (YAML too)", "summit.call", "summit.reply"),
)
BY_PROTOCOL = (_APC, _SAOP, _SAP, _ASAP, _SUMMIT)
"""The protocols, in the order of `streams.protocols.queries`."""

COMMANDS: Mapping[str, CommandEntry] = {
    "up": CommandEntry("up", "Run everything on this machine: broker, topics, worker, gateway."),
    "demo": CommandEntry("demo", "Watch packets go through the whole system."),
    "send": CommandEntry("send", "Send JSON to a topic."),
    "tail": CommandEntry("tail", "Follow a topic, decoded."),
    "query": CommandEntry("query", "Run a query of the HTTP API."),
    **{name: lazy for each in BY_PROTOCOL for name, lazy in each.commands.items()},
    "lineage": CommandEntry("lineage", "Show the lineage graph over all protocols."),
    "rewind": CommandEntry("rewind", "Reset a session and its git work tree to a commit."),
    "sink": CommandEntry("sink", "Copy turns and events into a database file."),
    "validate": CommandEntry("validate", "Check one envelope, offline."),
    "mask": CommandEntry("mask", "Replace secrets in lines of text, offline."),
    "play": CommandEntry("play", "Run a scenario on the in-memory log, offline."),
    "worker": CommandEntry("worker", "Run a stream worker."),
    "gateway": CommandEntry("gateway", "Serve HTTP."),
    "tokens": CommandEntry("tokens", "Create, list and revoke the bearer tokens of a gateway."),
    "ready": CommandEntry("ready", "Check whether a worker or a gateway is ready."),
    "topics": CommandEntry("topics", "Create, list and describe topics."),
    "broker": CommandEntry("broker", "Run a local Apache Kafka."),
    "verify": CommandEntry("verify", "Verify the log: answers, verdicts, rows."),
    "doctor": CommandEntry("doctor", "Check the installation, and say what to do."),
    "completion": CommandEntry("completion", "Print the shell completion script of this command."),
    "audit": CommandEntry("audit", "Sign facts with checkpoints, and prove them unchanged."),
    "dlq": CommandEntry("dlq", "Show dead letters, and redrive them."),
}
"""The commands by name, in the order of `--help`."""

PROTOCOLS = tuple(each.protocol for each in BY_PROTOCOL)
SENT_TOPICS = tuple(topic for each in BY_PROTOCOL for topic in each.topics)
KINDS = tuple(kind for each in BY_PROTOCOL for kind in each.kinds)


def join_or(names: Sequence[str]) -> str:
    """Return `a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} or {last}"
