"""Where the verdict on a client's record lies.

Each record of these topics is owed exactly one: a fact here, or a dead letter if it could not be
judged.  The fact's `headrace-cause` is the position of the record.
"""

from __future__ import annotations

from collections.abc import Mapping

from topology.declarations import Topic
from topology.protocols import DECLARED

VERDICTS: Mapping[Topic, tuple[Topic, ...]] = {
    topic: facts for each in DECLARED for topic, facts in each.verdicts.items()
}
"""By the topic that the record is on."""
