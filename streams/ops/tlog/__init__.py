"""A transparency log in the formats of C2SP: entries, tree, tiles, notes, policies and receipts.

The modules are pure: they read no log, no network and, but for `key_files`, no files.
"""
