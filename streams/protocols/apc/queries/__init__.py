"""Queries about packets, protocols and their lineage."""
