"""Schema registries: the catalogue served as one (`reading`), and one whose ids are used.

With SCHEMA_REGISTRY_URL set, `headrace topics create` registers the catalogue's schemas there
(`register`), and each process that reads or writes values takes its ids from there (`bound`).
Ids of the committed catalogue are always read, so that old records stay readable.
"""
