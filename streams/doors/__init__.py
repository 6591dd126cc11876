"""Doors: what foreign programs speak, turned into the functions of the gateway."""
