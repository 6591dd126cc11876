"""One module per target: seeds() are inputs to begin with, run(data) raises for a finding.

mutate(data, dice), where there is one, changes an input with a mind for its form.
"""
