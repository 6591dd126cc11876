"""A view in RocksDB that follows the log, and waits for its rows."""
