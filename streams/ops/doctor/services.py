"""Checks of the broker, its topics, the schema registry and the tokens."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import closing

from streams.engine.certificates import check_trust
from streams.engine.kafka import KafkaLog
from streams.engine.log import Log
from streams.errors import AccessDenied, HeadraceError, NoAuthorizer, SettingsError, TlsFailed
from streams.log.connecting import connect
from streams.ops.broker import status
from streams.ops.doctor import api_versions
from streams.ops.doctor.findings import Check, fail, failed, ok, warn
from streams.ops.doctor.macs import check_macs
from streams.ops.doctor.transparency import check_log
from streams.ops.doctor.writers import check_writers
from streams.ops.topics import TopicStatus, config_of, plan
from streams.settings import Settings
from streams.settings.addresses import Address

TESTED_FROM = "4.0"
PATIENCE_S = 5.0
"""How long requests to the schema registry are retried."""
_MAX_NAMES = 5


def kafka(settings: Settings) -> Iterator[Check]:
    """Check the broker, and the declared topics on it."""
    if settings.bootstrap is None and not status(settings).running:
        advice = "Run `headrace up`, or set HEADRACE_BOOTSTRAP to a broker that runs."
        yield warn("broker", "none is set, and no local one runs", advice)
        return
    try:
        log = connect(settings)
    except HeadraceError as exc:
        yield failed("broker", exc)
        return
    with closing(log):
        try:
            yield ok("broker", f"cluster {log.cluster_id()} answers")
            yield broker_version(settings)
            yield from _check_topics(log, settings)
            yield from check_records(log, settings.prefix)
            yield from check_macs(log, settings)
            yield from check_log(log, settings)
        except HeadraceError as exc:
            yield failed("topics", exc)


def broker_version(settings: Settings) -> Check:
    bootstrap = status(settings).bootstrap or ""
    try:
        check_trust(bootstrap, settings.security())
        release = api_versions.ask(bootstrap, settings.security())
    except TlsFailed as exc:
        return failed("broker version", exc)
    except OSError as exc:
        advice = "Look at the broker's log; headrace itself could talk to it."
        return warn("broker version", f"not known: {exc}", advice)
    if release is None:
        return fail("broker version", "Kafka before 2.8", f"Run Kafka {TESTED_FROM} or later.")
    message = f"Kafka {release} or later"
    if release < TESTED_FROM:
        return warn(
            "broker version", message, f"headrace is tested with Kafka {TESTED_FROM} and on."
        )
    return ok("broker version", message)


def _check_topics(log: KafkaLog, settings: Settings) -> Iterator[Check]:
    planned = plan(log, settings)
    missing = [one.name for one in planned if one.status is TopicStatus.MISSING]
    differ = [
        f"{one.name} has {one.existing_partitions} partitions, not {one.partitions}"
        for one in planned
        if one.status is TopicStatus.MISMATCH
    ]
    if differ:
        advice = "Set HEADRACE_PARTITIONS to what the topics have, or HEADRACE_PREFIX to a new one."
        yield fail("topics", _join_names(differ), advice)
    if missing:
        message = f"{len(missing)} of {len(planned)} are missing: {_join_names(missing)}"
        advice = "Run `headrace topics create`; without the right to see a topic it is missing too."
        yield fail("topics", message, advice)
    if not differ and not missing:
        yield ok("topics", f"all {len(planned)} are there, with their partitions")
    yield _check_configs(log, settings)
    try:
        yield from check_writers(log.admin().write_grants(), settings.prefix)
    except NoAuthorizer:
        yield ok("acls", "Kafka keeps none: whoever reaches the brokers may write facts and tables")
    except AccessDenied:
        advice = "Ask as a principal that may describe the cluster."
        yield warn("acls", "not known: this user may not see them", advice)


def check_records(log: Log, prefix: str) -> Iterator[Check]:
    """Check the newest records of the tables of which a protocol can tell who wrote them."""
    from streams.protocols.commands import COMMANDS

    for check in (each for side in COMMANDS for each in side.log_checks):
        try:
            result = check.run(log, prefix)
        except HeadraceError as exc:
            yield failed(check.name, exc)
            continue
        message = f"{result.checked} newest {check.what} are as they were written"
        if result.refused:
            message = (
                f"{result.refused} of the newest {check.what} are refused, the first at"
                f" {result.first}: {result.reason}"
            )
        yield fail(check.name, message, check.advice) if result.refused else ok(check.name, message)


def _check_configs(log: KafkaLog, settings: Settings) -> Check:
    existing = [one for one in plan(log, settings) if one.existing_partitions is not None]
    try:
        configs = log.admin().configs(one.name for one in existing)
    except AccessDenied:
        advice = "Ask as an operator; see `headrace topics acls`."
        return warn("topic settings", "not known: this user may not see them", advice)
    differ = [
        f"{name} of {one.name} is {configs[one.name].get(name)}, not {expected}"
        for one in existing
        for name, expected in config_of(one.topic, settings).items()
        if configs[one.name].get(name) != expected
    ]
    if differ:
        advice = "Alter them with kafka-configs.sh, unless you changed them on purpose."
        return warn("topic settings", _join_names(differ), advice)
    return ok("topic settings", f"{len(existing)} topics are set as declared")


def registry(settings: Settings) -> Iterator[Check]:
    """Check that the schema registry has every version of every schema."""
    from streams.registry.client import Registry
    from streams.registry.register import missing
    from streams.registry.subjects import subjects

    if settings.schema_registry_url is None:
        yield ok("schemas", "ids are those of the committed catalogue; no registry is set")
        return
    try:
        url, tls = settings.schema_registry_url, settings.registry_tls()
        with closing(Registry(url, PATIENCE_S, tls)) as client:
            lacking = [
                f"{subject.name} version {entry.version}"
                for subject in subjects(settings.prefix).values()
                for entry in missing(subject, client.versions(subject.name))
            ]
    except HeadraceError as exc:
        yield failed("schemas", exc)
        return
    if lacking:
        message = f"the registry lacks {len(lacking)} versions: {_join_names(lacking)}"
        yield fail("schemas", message, "Run `headrace topics create`, which registers them.")
    else:
        yield ok("schemas", f"the registry has all {len(subjects(settings.prefix))} subjects")


def tokens(settings: Settings) -> Iterator[Check]:
    """Check that a gateway has tokens if it needs them."""
    from streams.access.tokens import load

    if settings.tokens is None:
        yield _check_no_tokens(settings)
        return
    try:
        known = load(settings.tokens)
    except SettingsError as exc:
        yield failed("tokens", exc)
        return
    message = f"{len(known)} in {settings.tokens}"
    if not known:
        yield warn("tokens", message, "Make one with `headrace tokens new`; nobody may call now.")
    elif settings.principal_key is None:
        advice = "Set HEADRACE_PRINCIPAL_KEY in gateways and workers alike."
        yield warn("tokens", f"{message}; facts do not show who sent a record", advice)
    else:
        yield ok("tokens", message)


def _check_no_tokens(settings: Settings) -> Check:
    try:
        host = Address.parse(settings.gateway).host
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except (SettingsError, ValueError):
        local = False
    if local:
        return ok("tokens", "none are needed on loopback")
    advice = "Make some with `headrace tokens new`, and set HEADRACE_TOKENS to their file."
    return fail("tokens", f"none are set, and a gateway would listen on {settings.gateway}", advice)


def _join_names(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more
