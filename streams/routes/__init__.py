"""All routes as rows of a table, without a web framework; HTTP, `query` and `play` share it."""
