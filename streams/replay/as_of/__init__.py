"""As-of queries: the state of one thing at a point of the log, folded from its facts up to there.

A query about one thing is answered from the view as usual, except for the rows of that thing: they
are overlaid with what its facts fold to, and later decisions are hidden.
"""
