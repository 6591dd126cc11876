"""The formats of the transparency log."""
