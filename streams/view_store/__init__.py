"""A view in RocksDB: kept up to date from the log, and waited for by those who ask."""
