"""Verification of a log.

Each command has one verdict, each verdict follows from its inputs, and
each row is what the facts fold to.
"""
