"""Tamper evidence: chains of signed checkpoints over the facts."""

from streams.ops.audit.chain import COVERED
from streams.ops.audit.keys import Keys, Signer, Verifier, keys_of, new_pair, public_path, signer
from streams.ops.audit.verify import AuditResult, ChainStatus, Violation, verify
from streams.ops.audit.writer import AuditWriter, checkpoints

__all__ = [
    "COVERED",
    "AuditResult",
    "AuditWriter",
    "ChainStatus",
    "Keys",
    "Signer",
    "Verifier",
    "Violation",
    "checkpoints",
    "keys_of",
    "new_pair",
    "public_path",
    "signer",
    "verify",
]
