"""Spans of what is on the log, for the backends of OpenTelemetry (OTel guide, 9).

A span is a function of one record: its ids, times and attributes are the same whenever it is
exported.  Which attributes it has is data, `topology/otel/outgoing.toml`.
"""
