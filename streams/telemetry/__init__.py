"""Telemetry of the service: metrics, logs, progress."""
