"""Rows made of facts again: what `?as_of=` shows and `headrace verify` compares.

Each protocol has one fold; it takes facts in their order and gives the row that they come to.
"""
