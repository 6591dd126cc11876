"""Spans of records, which the service exports."""
