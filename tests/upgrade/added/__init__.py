"""What the next version adds in `tests.upgrade.next_version`: a topic, a table, a processor."""
