"""What the processors of all protocols share, and what a protocol contributes to a worker."""
