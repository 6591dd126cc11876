"""The commands of Summit (Summit guide, 6.4), one module each."""
