"""Looking back: what one thing was at a point of the log, folded from its facts up to there.

A query over one thing is answered from the view as always, but for the rows of that thing: those
are overlaid with what its facts come to, and what was decided later is hidden.
"""
