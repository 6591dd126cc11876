"""Folds that rebuild rows from facts, for `?as_of=` and `headrace verify`.

Each protocol has its own folds.  A fold takes facts in log order and returns the row.
"""
