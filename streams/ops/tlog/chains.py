"""The chains of signed checkpoints over the facts that an environment has from before its log.

They are compared with the facts once, before the log's first entry.  Then the checkpoints become
entries like all other records, so that the old signatures are bound into the tree.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from streams.engine.log import Log
from streams.log.reading import partitions, records
from streams.ops.audit.chain import COVERED
from streams.ops.audit.keys import Keys, Verifier
from streams.ops.audit.verify import verify
from streams.ops.audit.writer import checkpoints
from streams.ops.tlog.errors import ChainsInvalid
from streams.ops.tlog.log_keys import LogKeys
from streams.telemetry.progress import count_items
from topology.topics import full_name


def chain_keys(keys: LogKeys, previous: Keys) -> Keys:
    """Return the public keys that may have signed chains: those of the log, and previous ones."""
    private = (key for key in keys.all if isinstance(key, Ed25519PrivateKey))
    verifiers = (Verifier(key.public_key()) for key in private)
    return {**previous, **{verifier.id: verifier for verifier in verifiers}}


def check_chains(log: Log, prefix: str, keys: Keys) -> None:
    """Compare the facts with the chains of checkpoints; nothing to do where there are none.

    Facts behind the last checkpoint of a chain are no finding.
    Raises ChainsInvalid, BrokerUnavailable.
    """
    chains = checkpoints(log, prefix)
    if not chains:
        return
    tps = partitions(log, [full_name(topic, prefix) for topic in COVERED])
    starts, ends = log.starts(tps), log.ends(tps)
    total = sum(ends[tp] - starts[tp] for tp in tps)
    facts = count_items(records(log, tps, ends, starts), "checkpoints", total)
    findings = verify(facts, chains, tps, keys).findings
    if findings:
        first, *others = findings
        more = f", and {len(others)} more" if others else ""
        raise ChainsInvalid(first.code, f"{first.place}: {first.what}{more}")
