"""OTLP at the gateway."""
