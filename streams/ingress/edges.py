"""The topics that users may write, of all protocols, by name."""

from __future__ import annotations

from collections.abc import Mapping

from streams.errors import UsageError
from streams.processing.ingress import IngressTopic
from streams.protocols.commands import COMMANDS
from topology import topics

EDGES: Mapping[str, IngressTopic] = {
    edge.topic.name: edge for side in COMMANDS for edge in side.edges
}


def ingress_topic_of(topic: str) -> IngressTopic:
    """Return the ingress of a topic, by name without prefix.

    Raises UsageError for a topic that users may not write.
    """
    if topic not in EDGES:
        is_declared = any(candidate.name == topic for candidate in topics.ALL)
        reason = "is written by the service only" if is_declared else "is not a topic of headrace"
        raise UsageError(f"{topic} {reason}", advice=f"Topics to send to: {', '.join(EDGES)}.")
    return EDGES[topic]
