"""The ACLs that the topology implies, for the principals that have its roles."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from streams.engine.kafka_admin import Acl
from topology.acls import Pattern, Permission, Resource, Role, permissions_of

PLACEHOLDERS = {role: (f"User:headrace-{role}",) for role in Role}
"""Principals that are printed when none is named."""
_OPTIONS = {
    Resource.TOPIC: "--topic",
    Resource.GROUP: "--group",
    Resource.TRANSACTIONAL_ID: "--transactional-id",
}


class Grant(NamedTuple):
    """The operations that one principal may perform on one resource."""

    principal: str
    what: Permission

    def acls(self) -> list[Acl]:
        """Return one ACL per operation, as Kafka stores them."""
        _, resource, pattern, name, operations = self.what
        return [Acl(self.principal, resource, pattern, name, each) for each in operations]


def grants_of(principals: Mapping[Role, Sequence[str]], prefix: str) -> list[Grant]:
    """Return the grants of all principals.  principals: by role, e.g. `User:alice`."""
    return [
        Grant(principal, what)
        for role in Role
        for principal in dict.fromkeys(principals.get(role, ()))
        for what in permissions_of(role, prefix)
    ]


def script(grants: Iterable[Grant], bootstrap: str) -> list[str]:
    """Return the grants as commands of the tool that comes with Kafka."""
    return [_command(grant, bootstrap) for grant in grants]


def _command(grant: Grant, bootstrap: str) -> str:
    what = grant.what
    arguments = ["kafka-acls.sh", "--bootstrap-server", bootstrap, "--add"]
    arguments += ["--allow-principal", grant.principal]
    for operation in what.operations:
        arguments += ["--operation", operation.title().replace(" ", "")]
    arguments += [_OPTIONS[what.resource], what.name]
    if what.pattern is Pattern.PREFIXED:
        arguments += ["--resource-pattern-type", "prefixed"]
    return shlex.join(arguments)
