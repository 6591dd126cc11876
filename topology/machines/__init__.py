"""The state machines, one file each."""
