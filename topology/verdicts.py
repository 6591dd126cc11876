"""Where the verdict on a client's record lies.

Each record of these topics is owed exactly one: a fact here, or a dead letter if it could not be
judged.  The fact's `headrace-cause` is the position of the record.
"""

from __future__ import annotations

from collections.abc import Mapping

from topology import topics
from topology.declarations import Topic

VERDICTS: Mapping[Topic, tuple[Topic, ...]] = {
    topics.APC_PACKETS: (topics.APC_EVENTS,),
    topics.RTES_RAW: (topics.RTES_EVENTS, topics.RTES_REJECTIONS),
    topics.SAOP_TURNS: (topics.SAOP_VERDICTS,),
    topics.SAOP_REWINDS: (topics.SAOP_REWIND_LOG,),
    topics.SAP_TASKS: (topics.SAP_ACKS,),
    topics.SAP_RESULTS: (topics.SAP_ACKS,),
    topics.SAP_SIGNALS: (topics.SAP_ACKS,),
    topics.ASAP_ENVELOPES: (topics.ASAP_EVENTS,),
    topics.ASAP_MANIFESTS: (topics.ASAP_EVENTS,),
    topics.SUMMIT_MANIFESTS: (topics.SUMMIT_EVENTS,),
    topics.SUMMIT_CALLS: (topics.SUMMIT_EVENTS,),
    topics.SUMMIT_REPLIES: (topics.SUMMIT_EVENTS,),
}
"""By the topic that the record is on."""
