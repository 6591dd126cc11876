"""The JSON form of Avro records, both ways, and what the protocols state of it as data."""
