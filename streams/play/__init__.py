"""Scenarios: the real processors, codecs, views and routes over the in-memory log.

Time is the scenario's own, so the same lines give the same output on every run.
"""
