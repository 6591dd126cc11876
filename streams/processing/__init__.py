"""The code that the processors of all protocols share, and the command side of a protocol."""
