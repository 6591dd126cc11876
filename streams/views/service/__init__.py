"""Rows about the whole service: counters of verdicts, agents, refusals, effects and open work.

They are made of what protocols say about their facts (`verdicts.FactReading`), and they are
functions of the log alone: neither the order in which partitions are read nor the batches in which
they are applied change them.
"""
