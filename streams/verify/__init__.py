"""A log verified: every command answered once, every verdict borne out, every row what the facts
come to."""
