"""SAOP and RTES: turns, tasks, escalations, rewinds, and the events of each session."""
