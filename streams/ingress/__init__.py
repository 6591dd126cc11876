"""From JSON to records on the log: what HTTP, the command line and `play` do alike."""
