"""Kafka administration: ACLs, topic configurations, and where consumer groups begin.

`streams.engine.kafka` makes the client and passes its library's module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from streams.engine.kafka_refusals import refusal_of
from streams.errors import BrokerUnavailable, NoAuthorizer
from topology.acls import Operation, Pattern, Resource

T = TypeVar("T")
_TIMEOUT_S = 30.0
_HAS_MEMBERS = ("NON_EMPTY_GROUP", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS")
_RESOURCES = {
    Resource.TOPIC: "TOPIC",
    Resource.GROUP: "GROUP",
    Resource.TRANSACTIONAL_ID: "TRANSACTIONAL_ID",
}


class Acl(NamedTuple):
    """A permission: a principal, e.g. `User:alice`, may do one operation, from any host."""

    principal: str
    resource: Resource
    pattern: Pattern
    name: str
    operation: Operation


class WriteGrant(NamedTuple):
    """A principal that may write topics, or use transactional ids.

    is_prefix: whether `name` is the start of names; a name `*` stands for all.
    """

    principal: str
    resource: Resource
    is_prefix: bool
    name: str

    def covers(self, name: str) -> bool:
        """Return whether it holds for this name."""
        return self.name in ("*", name) or (self.is_prefix and name.startswith(self.name))


class KafkaAdmin:
    """A wrapper of the Kafka client's admin API.

    library: the module that has `AclBinding`, `ConfigResource` and so on.

    Calls raise NoAuthorizer, AccessDenied, BrokerUnavailable.
    """

    def __init__(self, admin: Any, library: Any, failure: type[Exception]) -> None:
        self._admin, self._library, self._failure = admin, library, failure

    def configs(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the configuration of existing topics, by topic name."""
        library = self._library
        resources = [
            library.ConfigResource(library.ConfigResource.Type.TOPIC, name) for name in topics
        ]
        if not resources:
            return {}
        futures = self._admin.describe_configs(resources)
        configs = self._ask(lambda: {r.name: f.result(_TIMEOUT_S) for r, f in futures.items()})
        return {
            name: {each.name: each.value for each in entries.values()}
            for name, entries in configs.items()
        }

    def acls(self, acls: Iterable[Acl]) -> set[Acl]:
        """Return those of these ACLs that exist."""
        existing = self._existing_bindings()
        return {acl for acl in acls if self._binding(acl) in existing}

    def write_grants(self) -> list[WriteGrant]:
        """Return who may write which topics, or with which transactional ids, by any ACL."""
        library = self._library
        resources = {library.ResourceType[name]: resource for resource, name in _RESOURCES.items()}
        return [
            WriteGrant(
                each.principal,
                resources[each.restype],
                each.resource_pattern_type is library.ResourcePatternType.PREFIXED,
                each.name,
            )
            for each in self._existing_bindings()
            if each.restype in resources
            and each.permission_type is library.AclPermissionType.ALLOW
            and each.operation in (library.AclOperation.WRITE, library.AclOperation.ALL)
        ]

    def _existing_bindings(self) -> set[Any]:
        library = self._library
        every = library.AclBindingFilter(
            library.ResourceType.ANY,
            None,
            library.ResourcePatternType.ANY,
            None,
            None,
            library.AclOperation.ANY,
            library.AclPermissionType.ANY,
        )
        return self._ask(lambda: set(self._admin.describe_acls(every).result(_TIMEOUT_S)))

    def add_acls(self, acls: Iterable[Acl]) -> None:
        """Create these ACLs; existing ones stay."""
        bindings = [self._binding(acl) for acl in acls]
        if bindings:
            futures = self._admin.create_acls(bindings).values()
            self._ask(lambda: [future.result(_TIMEOUT_S) for future in futures])

    def begin_group(self, request: Any) -> None:
        """Commit the offsets of a consumer group; if it has members already, do nothing.

        request: the library's group and its offsets.
        """
        future = self._admin.alter_consumer_group_offsets([request])[request.group_id]

        def commit() -> None:
            try:
                future.result(_TIMEOUT_S)
            except self._failure as exc:
                if exc.args[0].name() not in _HAS_MEMBERS:
                    raise

        self._ask(commit)

    def _binding(self, acl: Acl) -> Any:
        library = self._library
        return library.AclBinding(
            library.ResourceType[_RESOURCES[acl.resource]],
            acl.name,
            library.ResourcePatternType[acl.pattern.name],
            acl.principal,
            "*",
            library.AclOperation[acl.operation.name],
            library.AclPermissionType.ALLOW,
        )

    def _ask(self, question: Callable[[], T]) -> T:
        try:
            return question()
        except TimeoutError as exc:
            raise BrokerUnavailable("no answer from Kafka") from exc
        except self._failure as exc:
            error = exc.args[0]
            if error.name() == "SECURITY_DISABLED":
                raise NoAuthorizer("Kafka keeps no ACLs: it has no authorizer") from exc
            raise refusal_of(error) or BrokerUnavailable(f"Kafka says: {error.str()}") from exc
