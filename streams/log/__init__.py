"""Reading topics: once to an end, record by record, or following with a cursor."""
