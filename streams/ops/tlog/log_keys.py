"""The keys that a log's writer signs with, and the policy that says so."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from streams.errors import PolicyInvalid, SettingsError
from streams.ops.tlog.errors import PolicyLacksKey
from streams.ops.tlog.key_files import load_private_key
from streams.ops.tlog.keys import PrivateKey, sign_checkpoint, verifier_key
from streams.ops.tlog.note import Checkpoint, Note
from streams.ops.tlog.policy import Policy, load_policy
from streams.settings.service import ServiceSettings


class LogKeys(NamedTuple):
    """The private keys of one log.

    batches: signs batches.  all: sign checkpoints.  policy: lists the one that signs batches.
    """

    origin: str
    batches: Ed25519PrivateKey
    all: tuple[PrivateKey, ...]
    policy: Policy

    def sign(self, checkpoint: Checkpoint, time_s: int) -> Note:
        """Sign a checkpoint with all keys, those of Ed25519 first.  time_s: since the epoch."""
        keys = sorted(self.all, key=lambda key: not isinstance(key, Ed25519PrivateKey))
        return Note(checkpoint.text, tuple(sign_checkpoint(k, checkpoint, time_s) for k in keys))


def load_log_keys(settings: ServiceSettings) -> LogKeys:
    """Load the keys that HEADRACE_AUDIT_KEY names, and the policy.

    Raises SettingsError, PolicyInvalid, PolicyLacksKey.
    """
    if settings.tlog_policy is None or settings.audit_key is None:
        raise SettingsError(
            "a transparency log needs HEADRACE_AUDIT_KEY and HEADRACE_TLOG_POLICY",
            advice="`headrace audit key FILE --origin ORIGIN` makes both files.",
        )
    policy = load_policy(settings.tlog_policy)
    origin = choose_origin(policy, settings.tlog_origin)
    private = tuple(load_private_key(Path(name)) for name in str(settings.audit_key).split(","))
    batches = next((key for key in private if isinstance(key, Ed25519PrivateKey)), None)
    if batches is None:
        raise SettingsError("HEADRACE_AUDIT_KEY names no key of Ed25519, which signs the entries")
    verifier = verifier_key(origin, batches)
    if verifier not in policy.keys_of(origin):
        raise PolicyLacksKey(
            f"{settings.tlog_policy} does not list the key {verifier.name}+{verifier.id}"
        )
    _check_quorum(policy, settings.tlog_policy)
    return LogKeys(origin, batches, private, policy)


def _check_quorum(policy: Policy, path: Path) -> None:
    """Raise PolicyInvalid if witnesses that can be asked are no quorum."""
    if policy.is_met_by(each.name for each in policy.witnesses if each.url is not None):
        return
    counting = policy.witnesses_of_quorum()
    missing = [each.name for each in policy.witnesses if each.url is None]
    names = ", ".join(name for name in missing if name in counting)
    raise PolicyInvalid(
        f"{path}: the quorum {policy.quorum} cannot be met, since {names} cannot be asked",
        advice="Give these witnesses a URL in the policy, or write with `quorum none`.",
    )


def choose_origin(policy: Policy, chosen: str | None) -> str:
    """Return the log of a policy that is meant: the only one, or the chosen one of several.

    Raises SettingsError.
    """
    origins = tuple(dict.fromkeys(log.key.name for log in policy.logs))
    if chosen is None and len(origins) == 1:
        return origins[0]
    if chosen in origins:
        return chosen
    raise SettingsError(
        f"HEADRACE_TLOG_ORIGIN names none of the policy's logs: {', '.join(origins) or 'none'}"
    )
