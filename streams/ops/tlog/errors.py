"""The errors of transparency logs."""

from __future__ import annotations

from streams.errors import InfrastructureError, NegativeAnswer, SettingsError


class PolicyLacksKey(SettingsError):
    """An error for a policy that does not list the key that is to sign the log."""

    default_advice = "`headrace audit key FILE --origin ORIGIN` writes the policy of a key."


class LogRolledBack(InfrastructureError):
    """An error for a log that lacks entries that were signed, or the records of its entries."""

    default_advice = "Restore the cluster, or begin another log with another origin and folder."


class ChainsInvalid(InfrastructureError):
    """An error for facts that chains of signed checkpoints do not bear out, before a log begins.

    Its code is that of the first finding, as `records_differ`.
    """

    default_advice = (
        "`headrace audit verify --public-key FILE` lists all; --previous-key names a key that was"
        " replaced, and --ignore-chains begins the log all the same."
    )

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self._code = code

    @property
    def code(self) -> str:
        return self._code


class NotWitnessed(NegativeAnswer):
    """An error for a checkpoint that too few witnesses have cosigned to be published."""

    default_advice = "It is tried again by the next `headrace audit write`."


class TopicNotCovered(NegativeAnswer):
    """An error for a record of a topic whose records have no entries."""

    default_advice = "Facts and the records of operators' tools have; docs/audit.md says more."
