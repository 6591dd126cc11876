"""Schema registries: the catalogue served as one (`reading`), and the use of an external one.

With SCHEMA_REGISTRY_URL set, `headrace topics create` registers the catalogue's schemas there
(`register`), and each process that reads or writes values takes its ids from there (`binding`). Ids
of the committed catalogue are always read, so that old records stay readable.
"""
