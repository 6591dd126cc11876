"""What operators ask of Kafka: its ACLs, and how its topics are configured.

The client is made by `streams.engine.kafka`, which gives the words of its library too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from streams.engine.kafka_refusals import refusal_of
from streams.errors import BrokerUnavailable, NoAuthorizer
from topology.acls import Operation, Pattern, Resource

T = TypeVar("T")
_TIMEOUT_S = 30.0
_RESOURCES = {
    Resource.TOPIC: "TOPIC",
    Resource.GROUP: "GROUP",
    Resource.TRANSACTIONAL_ID: "TRANSACTIONAL_ID",
}


class Acl(NamedTuple):
    """A principal, e.g. `User:alice`, may do one thing to one resource, from any host."""

    principal: str
    resource: Resource
    pattern: Pattern
    name: str
    operation: Operation


class KafkaAdmin:
    """words: the module of the library that has `AclBinding`, `ConfigResource` and so on.

    Calls raise NoAuthorizer, AccessDenied, BrokerUnavailable.
    """

    def __init__(self, admin: Any, words: Any, failure: type[Exception]) -> None:
        self._admin, self._words, self._failure = admin, words, failure

    def configs(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """The settings of topics that are there, by name."""
        words = self._words
        wanted = [words.ConfigResource(words.ConfigResource.Type.TOPIC, name) for name in topics]
        if not wanted:
            return {}
        asked = self._admin.describe_configs(wanted)
        found = self._ask(lambda: {r.name: f.result(_TIMEOUT_S) for r, f in asked.items()})
        return {
            name: {each.name: each.value for each in entries.values()}
            for name, entries in found.items()
        }

    def acls(self, wanted: Iterable[Acl]) -> set[Acl]:
        """Those of these that Kafka has."""
        words = self._words
        every = words.AclBindingFilter(
            words.ResourceType.ANY,
            None,
            words.ResourcePatternType.ANY,
            None,
            None,
            words.AclOperation.ANY,
            words.AclPermissionType.ANY,
        )
        known = self._ask(lambda: set(self._admin.describe_acls(every).result(_TIMEOUT_S)))
        return {acl for acl in wanted if self._binding(acl) in known}

    def add_acls(self, acls: Iterable[Acl]) -> None:
        """All of them; what is there already stays."""
        bindings = [self._binding(acl) for acl in acls]
        if bindings:
            futures = self._admin.create_acls(bindings).values()
            self._ask(lambda: [future.result(_TIMEOUT_S) for future in futures])

    def _binding(self, acl: Acl) -> Any:
        words = self._words
        return words.AclBinding(
            words.ResourceType[_RESOURCES[acl.resource]],
            acl.name,
            words.ResourcePatternType[acl.pattern.name],
            acl.principal,
            "*",
            words.AclOperation[acl.operation.name],
            words.AclPermissionType.ALLOW,
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
