"""The check of who may write facts and tables, as far as Kafka tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams.engine.kafka_admin import WriteGrant
from streams.ops.doctor.findings import Check, ok, warn
from topology import topics
from topology.acls import WORKERS_GROUP, Resource
from topology.declarations import TopicKind
from topology.topics import full_name

NAME = "acls"
_KINDS = (TopicKind.FACT, TopicKind.TABLE, TopicKind.CHANGELOG)


def check_writers(grants: Iterable[WriteGrant], prefix: str) -> Iterator[Check]:
    """Check that only those who have the tasks' transactional ids may write them."""
    grants = list(grants)
    names = [full_name(topic, prefix) for topic in topics.ALL if topic.kind in _KINDS]
    first_id = f"{prefix}{WORKERS_GROUP}-0"
    workers = {
        grant.principal
        for grant in grants
        if grant.resource is Resource.TRANSACTIONAL_ID and grant.covers(first_id)
    }
    others: dict[str, list[str]] = {}
    for grant in grants:
        if grant.resource is Resource.TOPIC and grant.principal not in workers:
            others.setdefault(grant.principal, []).extend(filter(grant.covers, names))
    writers = {principal: topics for principal, topics in others.items() if topics}
    if not writers:
        yield ok(
            NAME, f"{len(workers)} principals may write facts and tables, with the ids of tasks"
        )
        return
    principal, written = min(writers.items())
    yield warn(
        NAME,
        f"{len(writers)} principals that run no worker may write facts or tables, the first is"
        f" {principal}, on {written[0]}",
        "Remove their ACLs with kafka-acls.sh; `headrace topics acls` prints what each role needs.",
    )
