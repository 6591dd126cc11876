"""The errors of the writer of a transparency log."""

from __future__ import annotations

from streams.errors import InfrastructureError, SettingsError


class PolicyLacksKey(SettingsError):
    """An error for a policy that does not list the key that is to sign the log."""

    default_advice = "`headrace audit key FILE --origin ORIGIN` writes the policy of a key."


class LogRolledBack(InfrastructureError):
    """An error for a log that lacks entries that were signed, or the records of its entries."""

    default_advice = "Restore the cluster, or begin another log with another origin and folder."
