"""Example agents of Summit, each a process of its own.

    python -m streams.agents.summit word-stats
    python -m streams.agents.summit desk-router

`word-stats` counts words and makes slugs, without any model.  `desk-router` hands a question to
`deep-researcher`, which has its draft checked by `fact-checker`: three runs, one lineage tree.
"""
