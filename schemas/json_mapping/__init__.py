"""The conversions between Avro records and their JSON form, and each protocol's mapping as data."""
