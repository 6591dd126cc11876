"""Validation against JSON Schemas that others wrote, in bounded time and without the network."""
