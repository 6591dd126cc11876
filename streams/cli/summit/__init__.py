"""The commands of Summit (Summit 6.4), one module each."""
