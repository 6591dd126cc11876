"""Every route as a row of a table, without a web framework: HTTP, `query` and `play` share it."""
