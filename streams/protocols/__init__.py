"""One folder for each protocol; `commands` and `queries` list what hosts take from them."""
