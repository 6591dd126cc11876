"""A sixth protocol, `ping`, added at test time: what a new protocol takes."""
