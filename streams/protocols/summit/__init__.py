"""Summit v1: manifests of agents, their runs, and the evidence behind each output."""
