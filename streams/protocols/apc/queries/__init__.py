"""Questions about packets, protocols and their lineage."""
