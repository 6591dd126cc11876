"""OTLP at `POST /v1/traces`: spans of instrumented programs become records of `otel.spans`.

The door decides nothing: it turns the messages of the OpenTelemetry protocol into values of the
topic, in which each span gets its verdict, and answers once Kafka has them all.
"""
