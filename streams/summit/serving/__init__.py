"""An agent at work: its inbox, its runs, its replies (Summit 6.5)."""
