"""The queries over spans, and the projection of facts to rows."""
