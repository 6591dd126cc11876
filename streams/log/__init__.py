"""Readers of topics: once to an end, by position, or following with a cursor."""
