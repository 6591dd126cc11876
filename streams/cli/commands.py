"""Every command: where it lives, and its line in `--help`.

Data only, and the names of topics and kinds are texts, since `--help` may load neither schemas nor
topology.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Lazy(NamedTuple):
    """Where a command lives, and its line in the list of commands."""

    module: str
    help: str


class Surface(NamedTuple):
    """What the command line has of one protocol.

    topics, kinds: what `send` and `validate` take, as their help names it.
    """

    protocol: str
    commands: Mapping[str, Lazy]
    topics: Sequence[str]
    kinds: Sequence[str]


_APC = Surface(
    "apc",
    {
        "packet-trace": Lazy("apc.packet_trace", "Show packets and their histories."),
        "packet-replay": Lazy("apc.packet_replay", "Show a run's packets and every transition."),
        "packet-explain": Lazy(
            "apc.packet_explain", "Explain a packet's verdict; try what-if values."
        ),
        "packet-lineage-summary": Lazy(
            "apc.packet_lineage_summary", "Show how protocols spread, and their effectiveness."
        ),
        "packet-transfer-arbitrate": Lazy(
            "apc.packet_transfer_arbitrate", "Rank unsent transfers, offline."
        ),
        "packet-evaluate": Lazy(
            "apc.packet_evaluate", "Check metrics against the promotion gates, offline."
        ),
    },
    topics=("apc.packets",),
    kinds=("apc.packet",),
)
_SAOP = Surface(
    "saop",
    {
        "saop": Lazy("saop.group", "Query turns, tasks, escalations and thoughts."),
        "rtes": Lazy("saop.rtes", "Query tool calls and rejected events."),
    },
    topics=("saop.turns", "rtes.raw", "saop.rewinds"),
    kinds=("saop.turn", "saop.rewind", "rtes.event", "rtes.payload"),
)
_SAP = Surface(
    "sap",
    {
        "sap-task": Lazy("sap.task", "Show a SAP task, its verdicts and its outcomes."),
        "sap-result": Lazy("sap.result", "Show an outcome of a SAP task."),
        "sap-explain": Lazy("sap.explain", "Explain the verdict on a SAP task, check by check."),
        "sap-cache": Lazy("sap.cache", "Show and verify cached results, or compute a task's key."),
        "sap-learning": Lazy("sap.learning", "Show what the service learned about a capability."),
    },
    topics=("sap.tasks", "sap.results", "sap.signals"),
    kinds=("sap.task", "sap.result", "sap.signal"),
)
_ASAP = Surface(
    "asap",
    {"asap": Lazy("asap.group", "Query ASAP tasks, send one, register agents.")},
    topics=("asap.envelopes", "asap.manifests"),
    kinds=("asap.envelope", "asap.manifest"),
)
_SUMMIT = Surface(
    "summit",
    {
        "summit-register": Lazy("summit.register", "Register Summit agents by their manifests."),
        "summit-withdraw": Lazy("summit.withdraw", "Withdraw a Summit agent."),
        "summit-agents": Lazy("summit.agents", "Show Summit agents."),
        "summit-schema": Lazy(
            "summit.schema", "Show the input and output schemas of a Summit agent."
        ),
        "summit-tools": Lazy("summit.tools", "Show the tools of Summit agents."),
        "summit-invoke": Lazy("summit.invoke", "Call a Summit agent, and wait for the result."),
        "summit-call-tool": Lazy("summit.call_tool", "Call a tool of a Summit agent."),
        "summit-cancel": Lazy("summit.cancel", "Cancel a Summit run."),
        "summit-status": Lazy("summit.status", "Show the state of a Summit run."),
        "summit-judge": Lazy("summit.judge", "Review a Summit run, as a critic."),
        "summit-runs": Lazy("summit.runs", "Show Summit runs."),
        "summit-verify": Lazy("summit.verify", "Recompute and check the hashes of a Summit run."),
    },
    topics=("summit.manifests (YAML too)", "summit.calls", "summit.replies"),
    kinds=("summit.manifest (YAML too)", "summit.call", "summit.reply"),
)
SURFACES = (_APC, _SAOP, _SAP, _ASAP, _SUMMIT)
"""The protocols, in the order of `streams.protocols.queries`."""

COMMANDS: Mapping[str, Lazy] = {
    "up": Lazy("up", "Run everything on this machine: broker, topics, worker, gateway."),
    "demo": Lazy("demo", "Watch packets go through the whole system."),
    "send": Lazy("send", "Send JSON to a topic."),
    "tail": Lazy("tail", "Follow a topic, decoded."),
    "query": Lazy("query", "Run a query of the HTTP API."),
    **{name: lazy for each in SURFACES for name, lazy in each.commands.items()},
    "lineage": Lazy("lineage", "Show the lineage graph over all protocols."),
    "rewind": Lazy("rewind", "Reset a session and its git work tree to a commit."),
    "sink": Lazy("sink", "Copy turns and events into a database file."),
    "validate": Lazy("validate", "Check one envelope, offline."),
    "mask": Lazy("mask", "Replace secrets in lines of text, offline."),
    "play": Lazy("play", "Run a scenario on the in-memory log, offline."),
    "worker": Lazy("worker", "Run a stream worker."),
    "gateway": Lazy("gateway", "Serve HTTP."),
    "tokens": Lazy("tokens", "Create, list and revoke the bearer tokens of a gateway."),
    "ready": Lazy("ready", "Check whether a worker or a gateway is ready."),
    "topics": Lazy("topics", "Create, list and describe topics."),
    "broker": Lazy("broker", "Run a local Apache Kafka."),
    "verify": Lazy("verify", "Verify the log: answers, verdicts, rows."),
    "doctor": Lazy("doctor", "Check the installation, and say what to do."),
    "completion": Lazy("completion", "Print the shell completion script of this command."),
    "audit": Lazy("audit", "Sign facts with checkpoints, and prove them unchanged."),
    "dlq": Lazy("dlq", "Show dead letters, and redrive them."),
}
"""By name, in the order of `--help`."""

PROTOCOLS = tuple(each.protocol for each in SURFACES)
SENT_TOPICS = tuple(topic for each in SURFACES for topic in each.topics)
KINDS = tuple(kind for each in SURFACES for kind in each.kinds)


def either(names: Sequence[str]) -> str:
    """`a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} or {last}"
