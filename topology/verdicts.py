"""The topics that carry the verdicts on client records, and on the calls that Summit itself makes.

Each record of these topics gets exactly one verdict: a fact here, or a dead letter if it could not
be decoded or handled.  The fact's `headrace-cause` is the position of the record.
"""

from __future__ import annotations

from collections.abc import Mapping

from topology.declarations import Topic
from topology.protocols import DECLARED

VERDICTS: Mapping[Topic, tuple[Topic, ...]] = {
    topic: facts for each in DECLARED for topic, facts in each.verdicts.items()
}
"""By the topic that the record is on."""
