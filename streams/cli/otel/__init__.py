"""The commands `headrace otel`."""
