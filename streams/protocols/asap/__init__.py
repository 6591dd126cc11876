"""ASAP 0.1: tasks between agents, their states, snapshots and calls of tools."""
