"""The neutral workload: a small state machine over Avro records, which knows no system."""
