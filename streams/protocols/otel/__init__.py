"""Spans of OpenTelemetry: each is recorded once, and becomes events of RTES."""
