"""Replay of facts: rows folded from them, as-of queries and checks of each verdict."""
