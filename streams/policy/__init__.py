"""Policies: what decides, as one file with a name, checked as a whole and named by its digest.

A member of a policy is a setting that decides, under the name that it has in the file.  The file
that HEADRACE_POLICY names stands between the defaults and the variables of the environment.
"""

from streams.policy.bundle import Policy, PolicyFile, default_policy, diff, policy_of
from streams.policy.read import COMPATIBLE, STRICT, load, read

__all__ = [
    "COMPATIBLE",
    "STRICT",
    "Policy",
    "PolicyFile",
    "default_policy",
    "diff",
    "load",
    "policy_of",
    "read",
]
