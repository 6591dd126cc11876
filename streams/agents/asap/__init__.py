"""Two example agents of ASAP, each over HTTP or over Kafka.

    python -m streams.agents.asap worker --urn urn:asap:agent:indexer:eu --over kafka
    python -m streams.agents.asap requester --urn urn:asap:agent:planner --over http \\
        --to urn:asap:agent:indexer:eu --pages 42

The worker "indexes" pages, reports each, and saves where it is; killed and started again it goes
on from there.  The requester asks and waits for the end.
"""
