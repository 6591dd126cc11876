"""How an agent does, as far as the log knows (Summit 6.1)."""

from __future__ import annotations

from itertools import islice

import orjson

from schemas.summit.words import STATES
from streams.engine.headers import iso
from streams.protocols.summit.queries.agents import agent
from streams.protocols.summit.queries.rows import count_key, last_reply_key, queue_key
from streams.views.keys import key, number_at_end
from streams.views.reads import Reads
from streams.views.values import Json

_TIME_BYTES = len(key(0))


def status(view: Reads, agent_id: str) -> Json:
    """An agent in `agent.status`.  Raises NotFound."""
    row = agent(view, agent_id)
    counts, last = view.get_many([count_key(agent_id), last_reply_key(agent_id)])
    found = {} if counts is None else orjson.loads(counts)
    return {
        "agentId": agent_id,
        "status": row["state"],
        "version": row["version"],
        "role": row["manifest"]["spec"]["role"],
        "manifestHash": row["manifestHash"],
        "registeredAt": row["at"],
        "runs": {state: found.get(state, 0) for state in STATES},
        "oldestQueuedAt": _oldest(view, agent_id),
        "lastReplyAt": None if last is None else iso(int(last)).decode(),
    }


def _oldest(view: Reads, agent_id: str) -> str | None:
    prefix = queue_key(agent_id)
    places = islice(view.scan(prefix), 1)
    ages = (number_at_end(place[: len(prefix) + _TIME_BYTES]) for place, _ in places)
    return next((iso(age).decode() for age in ages), None)
