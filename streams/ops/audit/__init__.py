"""Tamper evidence: chains of signed checkpoints over the facts."""

from streams.ops.audit.chain import COVERED
from streams.ops.audit.keys import Keys, Signer, Verifier, keys_of, new_pair, public_path, signer
from streams.ops.audit.verify import Account, Finding, Standing, verify
from streams.ops.audit.writer import AuditWriter, checkpoints

__all__ = [
    "COVERED",
    "Account",
    "AuditWriter",
    "Finding",
    "Keys",
    "Signer",
    "Standing",
    "Verifier",
    "checkpoints",
    "keys_of",
    "new_pair",
    "public_path",
    "signer",
    "verify",
]
