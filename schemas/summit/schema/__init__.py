"""The JSON Schemas in manifests: what is taken, defaults, validation (spec 2.6)."""
