"""Facts read again: rows folded from them, queries as of a point, checks of each verdict."""
