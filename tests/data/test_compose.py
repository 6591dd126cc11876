"""The compose file and the Dockerfile, as far as they can be judged without Docker."""

from __future__ import annotations

import base64
import ipaddress
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.broker import container
from streams.gateway.address import Address
from streams.settings import BY_ENV, PREFIX, Settings

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def test_the_services_are_there(compose: dict[str, Any]) -> None:
    headrace = {"topics", "worker", "gateway"}
    assert set(compose["services"]) == {"kafka", "schema-registry", "kafka-ui"} | headrace


def test_every_image_is_pinned_and_needs_no_registry_address(compose: dict[str, Any]) -> None:
    images = [service["image"] for service in compose["services"].values() if "image" in service]
    assert images
    for image in images:
        assert re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+:v?\d+(\.\d+)+", image)


def test_kafka_is_the_version_that_is_run_without_docker(compose: dict[str, Any]) -> None:
    assert compose["services"]["kafka"]["image"] == container.IMAGE
    pom = (ROOT / "streams/broker/pom.xml").read_text()
    assert f"<version>{container.IMAGE.rpartition(':')[2]}</version>" in pom


def test_ports_are_published_once_and_on_loopback_only(compose: dict[str, Any]) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    for port in ports:
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)
    published = [port.split(":")[1] for port in ports]
    assert sorted(published) == ["8080", "8081", "9092"]


def test_services_depend_on_services_and_mount_volumes_that_are_there(
    compose: dict[str, Any],
) -> None:
    for service in compose["services"].values():
        assert set(service.get("depends_on", {})) <= set(compose["services"])
        mounted = {volume.partition(":")[0] for volume in service.get("volumes", [])}
        assert mounted <= set(compose["volumes"])


def test_settings_of_the_services_are_declared_and_allowed(compose: dict[str, Any]) -> None:
    for name in ("topics", "worker"):
        environment = compose["services"][name]["environment"]
        assert Settings.load(environment).bootstrap == "kafka:19092"


def test_the_gateway_listens_on_the_loopback_of_the_host(compose: dict[str, Any]) -> None:
    gateway = compose["services"]["gateway"]
    assert gateway["network_mode"] == "host"
    assert "ports" not in gateway
    settings = Settings.load(gateway["environment"])
    assert ipaddress.ip_address(Address.parse(settings.gateway).host).is_loopback
    advertised = compose["services"]["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert f"OUTSIDE://{settings.bootstrap}" in advertised.split(",")
    assert f"http://{settings.gateway}/readyz" in gateway["healthcheck"]["test"][-1]


def test_addresses_inside_are_listeners_of_kafka(compose: dict[str, Any]) -> None:
    kafka = compose["services"]["kafka"]["environment"]
    assert "INSIDE://kafka:19092" in kafka["KAFKA_ADVERTISED_LISTENERS"].split(",")
    assert "OUTSIDE://127.0.0.1:9092" in kafka["KAFKA_ADVERTISED_LISTENERS"].split(",")
    ui = compose["services"]["kafka-ui"]["environment"]
    assert ui["KAFKA_CLUSTERS_0_BOOTSTRAPSERVERS"] == "kafka:19092"
    names = {entry.partition(":")[0] for entry in kafka["KAFKA_LISTENERS"].split(",")}
    protocols = kafka["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(",")
    assert names == {entry.partition(":")[0] for entry in protocols}


def test_the_cluster_id_is_a_kafka_uuid(compose: dict[str, Any]) -> None:
    given = compose["services"]["kafka"]["environment"]["CLUSTER_ID"]
    assert len(base64.urlsafe_b64decode(given + "==")) == 16


def test_what_the_dockerfile_copies_is_there_and_not_ignored() -> None:
    kept = {
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    sources = [
        source
        for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert source in kept


def test_settings_in_the_dockerfile_are_declared() -> None:
    named = set(re.findall(rf"\b{PREFIX}[A-Z_]+(?==)", DOCKERFILE))
    assert named
    assert named <= set(BY_ENV)


def test_the_state_directory_of_the_image_is_the_volume_that_compose_mounts(
    compose: dict[str, Any],
) -> None:
    found = re.search(r"HEADRACE_STATE_DIR=(\S+)", DOCKERFILE)
    assert found is not None
    assert f"VOLUME {found[1]}\n" in DOCKERFILE
    assert f"state:{found[1]}" in compose["services"]["worker"]["volumes"]
