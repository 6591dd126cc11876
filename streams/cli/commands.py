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
        "packet-replay": Lazy(
            "apc.packet_replay", "Show a run, packet by packet and step by step."
        ),
        "packet-explain": Lazy(
            "apc.packet_explain", "Show why a packet was judged so, and what if."
        ),
        "packet-lineage-summary": Lazy(
            "apc.packet_lineage_summary", "Show how protocols spread and how well they do."
        ),
        "packet-transfer-arbitrate": Lazy(
            "apc.packet_transfer_arbitrate", "Rank transfers that are not sent, offline."
        ),
        "packet-evaluate": Lazy("apc.packet_evaluate", "Hold metrics against the gates, offline."),
    },
    topics=("apc.packets",),
    kinds=("apc.packet",),
)
_SAOP = Surface(
    "saop",
    {
        "saop": Lazy("saop.group", "Ask about turns, tasks, escalations and thoughts."),
        "rtes": Lazy("saop.rtes", "Ask about tool calls and refused events."),
    },
    topics=("saop.turns", "rtes.raw", "saop.rewinds"),
    kinds=("saop.turn", "saop.rewind", "rtes.event", "rtes.payload"),
)
_SAP = Surface(
    "sap",
    {
        "sap-task": Lazy("sap.task", "Show a SAP task, its verdicts and its outcomes."),
        "sap-result": Lazy("sap.result", "Show an outcome of a SAP task."),
        "sap-explain": Lazy("sap.explain", "Show why a SAP task was judged so, check by check."),
        "sap-cache": Lazy("sap.cache", "Show and verify vetted answers, or compute a task's key."),
        "sap-learning": Lazy("sap.learning", "Show what was learned of a capability."),
    },
    topics=("sap.tasks", "sap.results", "sap.signals"),
    kinds=("sap.task", "sap.result", "sap.signal"),
)
_ASAP = Surface(
    "asap",
    {"asap": Lazy("asap.group", "Ask about ASAP tasks, send one, register agents.")},
    topics=("asap.envelopes", "asap.manifests"),
    kinds=("asap.envelope", "asap.manifest"),
)
_SUMMIT = Surface(
    "summit",
    {
        "summit-register": Lazy("summit.register", "Register agents of Summit by their manifests."),
        "summit-withdraw": Lazy("summit.withdraw", "Withdraw an agent of Summit."),
        "summit-agents": Lazy("summit.agents", "Show agents of Summit."),
        "summit-schema": Lazy("summit.schema", "Show what an agent of Summit takes and gives."),
        "summit-tools": Lazy("summit.tools", "Show the tools that agents of Summit offer."),
        "summit-invoke": Lazy(
            "summit.invoke", "Let an agent of Summit run, and wait for the result."
        ),
        "summit-call-tool": Lazy("summit.call_tool", "Use a tool of an agent of Summit."),
        "summit-cancel": Lazy("summit.cancel", "Cancel a run of Summit."),
        "summit-status": Lazy("summit.status", "Show where a run of Summit stands."),
        "summit-judge": Lazy("summit.judge", "Judge a run of Summit, as a critic."),
        "summit-runs": Lazy("summit.runs", "Show runs of Summit."),
        "summit-verify": Lazy("summit.verify", "Compute the hashes of a run of Summit anew."),
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
    "tail": Lazy("tail", "Follow a stream, decoded."),
    "query": Lazy("query", "Ask any read route."),
    **{name: lazy for each in SURFACES for name, lazy in each.commands.items()},
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
"""By name, in the order of `--help`."""

PROTOCOLS = tuple(each.protocol for each in SURFACES)
SENT_TOPICS = tuple(topic for each in SURFACES for topic in each.topics)
KINDS = tuple(kind for each in SURFACES for kind in each.kinds)


def either(names: Sequence[str]) -> str:
    """`a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} or {last}"
