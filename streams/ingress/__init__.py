"""The path from JSON to records on the log, shared by HTTP, the command line and `play`."""
