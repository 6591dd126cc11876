"""The compose file and the Dockerfile, as far as they can be judged without Docker."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.access.tokens import TokenFile
from streams.gateway.open_files import MAX_FILES
from streams.ops.broker import container
from streams.settings import BY_ENV, PREFIX, SECRET_FILES
from streams.settings.addresses import Address
from tests.compose import (
    DOCKERFILE,
    FILE,
    WORKERS,
    default_images,
    environment,
    list_secret_files,
    load,
    load_settings,
)
from tests.processes import ROOT
from tests.unit.cli.test_cli import run

BIN = Path(sys.executable).parent
OURS = {"topics", *WORKERS, "token-file", "token", "gateway"}
SIGNERS = {*WORKERS, "gateway"}
OTHERS = {"kafka", "schema-registry", "kafka-ui", "prometheus", "grafana"}
PUBLISHED = {
    "kafka": 9092,
    "schema-registry": 8081,
    "kafka-ui": 8080,
    "gateway": 8640,
    "prometheus": 9090,
    "grafana": 3000,
}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return load()


def ran(*command: str) -> str:
    """Run a command that must find nothing wrong, and return its output."""
    process = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_the_file_is_as_the_compose_specification_says() -> None:
    schema = ("--builtin-schema", "vendor.compose-spec")
    assert "ok" in ran(str(BIN / "check-jsonschema"), *schema, str(FILE))


def test_docker_compose_takes_the_file(compose: dict[str, Any]) -> None:
    command = _docker_compose()
    if command is None:
        pytest.skip("Docker Compose is not installed: it was not asked")
    services = ran(*command, "--file", str(FILE), "--profile", "token", "config", "--services")
    assert set(services.split()) == set(compose["services"])


def _docker_compose() -> list[str] | None:
    """Return the command of Docker's plugin, else of the separate program, if there is one."""
    docker = shutil.which("docker")
    command = [docker or "docker", "compose", "version"]
    if docker and not subprocess.run(command, capture_output=True, check=False).returncode:
        return command[:2]
    alone = shutil.which("docker-compose")
    return None if alone is None else [alone]


def test_the_linter_finds_nothing_in_the_dockerfile() -> None:
    assert ran(str(BIN / "hadolint"), "--no-color", str(ROOT / "Dockerfile")) == ""


def test_the_services_are_there(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == OURS | OTHERS
    assert {name for name, s in compose["services"].items() if "build" in s} == OURS


def test_every_image_is_a_variable_whose_default_is_a_tag(compose: dict[str, Any]) -> None:
    images = default_images(compose)
    assert len(images) == len(OTHERS) + 1
    for image in images.values():
        assert re.fullmatch(r"([a-z0-9-]+/)?[a-z0-9-]+:v?\d+(\.\d+)+(-slim)?", image)
    for name in OURS:
        assert compose["services"][name]["build"] == compose["services"]["gateway"]["build"]


def test_the_images_that_a_release_pins_are_those_of_the_files(compose: dict[str, Any]) -> None:
    lines = (ROOT / "deploy/images.env").read_text().splitlines()
    assert dict(line.split("=") for line in lines) == default_images(compose)
    (default,) = re.findall(r"^ARG PYTHON_IMAGE=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert default == default_images(compose)["PYTHON_IMAGE"]
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert set(bases) == {"${PYTHON_IMAGE}"}


def test_kafka_is_the_version_that_is_run_without_docker(compose: dict[str, Any]) -> None:
    assert default_images(compose)["KAFKA_IMAGE"] == container.IMAGE
    pom = (ROOT / "streams/ops/broker/pom.xml").read_text()
    assert f"<version>{container.IMAGE.rpartition(':')[2]}</version>" in pom


def test_every_service_is_bounded_in_memory_and_files(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert re.fullmatch(r"[1-9]\d*[gm]", service["mem_limit"]), name
        assert 1024 <= service["ulimits"]["nofile"] <= 100_000, name
    for name in ("kafka", "schema-registry", "kafka-ui"):
        service = compose["services"][name]
        heaps = re.findall(r"-Xmx(\w+)", " ".join(service["environment"].values()))
        assert [2 * _mebibytes(heap) for heap in heaps] == [_mebibytes(service["mem_limit"])]


def _mebibytes(size: str) -> int:
    return int(size[:-1]) * {"m": 1, "g": 1024}[size[-1]]


def test_a_gateway_may_open_and_hold_what_its_settings_allow(compose: dict[str, Any]) -> None:
    gateway, settings = compose["services"]["gateway"], load_settings(compose, "gateway")
    assert gateway["ulimits"]["nofile"] == MAX_FILES
    buffers_mib = settings.gateway_bodies_mib + settings.block_cache_mib
    assert 4 * buffers_mib <= _mebibytes(gateway["mem_limit"])


def test_ports_are_published_once_and_on_loopback_only(compose: dict[str, Any]) -> None:
    ports = {
        name: service["ports"]
        for name, service in compose["services"].items()
        if "ports" in service
    }
    assert ports == {name: [f"127.0.0.1:{port}:{port}"] for name, port in PUBLISHED.items()}


def test_services_depend_on_services_and_mount_volumes_that_are_there(
    compose: dict[str, Any],
) -> None:
    for service in compose["services"].values():
        assert set(service.get("depends_on", {})) <= set(compose["services"])
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert (ROOT / source).is_dir() if source[0] == "." else source in compose["volumes"]


def test_what_is_waited_for_until_it_is_healthy_says_whether_it_is(compose: dict[str, Any]) -> None:
    waits = [
        (name, wait["condition"])
        for service in compose["services"].values()
        if isinstance(service.get("depends_on"), dict)
        for name, wait in service["depends_on"].items()
    ]
    assert waits
    for name, condition in waits:
        service = compose["services"][name]
        if condition == "service_healthy":
            assert "test" in service["healthcheck"]
        else:
            assert (condition, service["restart"]) == ("service_completed_successfully", "no")


def test_settings_of_the_services_are_declared_and_allowed(compose: dict[str, Any]) -> None:
    registry = f"http://schema-registry:{PUBLISHED['schema-registry']}"
    for name in ("topics", *WORKERS, "gateway"):
        settings = load_settings(compose, name)
        assert settings.bootstrap == "kafka:19092"
        assert settings.schema_registry_url == registry
    ui = compose["services"]["kafka-ui"]["environment"]
    assert ui["KAFKA_CLUSTERS_0_SCHEMAREGISTRY"] == registry


def test_each_worker_has_a_state_directory_of_its_own(compose: dict[str, Any]) -> None:
    volumes = [tuple(compose["services"][name]["volumes"]) for name in WORKERS]
    assert len(set(volumes)) == len(WORKERS)


def test_the_gateway_asks_for_the_token_that_is_made_for_it(compose: dict[str, Any]) -> None:
    gateway, token = compose["services"]["gateway"], compose["services"]["token"]
    settings = load_settings(compose, "gateway")
    assert settings.tokens == load_settings(compose, "token").tokens
    assert settings.tokens is not None
    assert settings.tokens.parent == settings.state_dir
    assert gateway["volumes"] == token["volumes"] == [f"gateway:{settings.state_dir}"]
    assert Address.parse(settings.gateway) == ("0.0.0.0", PUBLISHED["gateway"])


def test_the_gateway_starts_with_an_empty_file_of_tokens(
    compose: dict[str, Any], tmp_path: Path
) -> None:
    gateway, service = compose["services"]["gateway"], compose["services"]["token-file"]
    assert gateway["depends_on"]["token-file"]["condition"] == "service_completed_successfully"
    assert service["volumes"] == gateway["volumes"]
    program, path = service["entrypoint"]
    assert Path(path) == load_settings(compose, "gateway").tokens
    assert "command" not in service
    ran(program, str(tmp_path / "tokens"))
    assert TokenFile(tmp_path / "tokens").caller("hr_a_b") is None


def test_docker_keeps_no_copy_of_a_token(compose: dict[str, Any]) -> None:
    """Check that only the service `token` prints one, outside of `up` and into no log."""
    for name in OURS:
        service = compose["services"][name]
        prints_token = "tokens" in service.get("command", ())
        assert prints_token == (name == "token")
        assert ("token" in service.get("profiles", ())) == prints_token
        assert (service.get("logging") == {"driver": "none"}) == prints_token
    assert not any("token" in s.get("depends_on", ()) for s in compose["services"].values())


def test_every_run_of_the_service_adds_a_token_of_the_operator(
    compose: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokens"
    path.touch()
    monkeypatch.setenv("HEADRACE_TOKENS", str(path))
    results = [run(*compose["services"]["token"]["command"]) for _ in range(2)]
    assert [result.exit_code for result in results] == [0, 0]
    callers = [TokenFile(path).caller(result.stdout.strip()) for result in results]
    assert [caller.principal for caller in callers if caller] == ["operator", "operator"]


def test_secrets_are_files_of_docker_and_no_variables(compose: dict[str, Any]) -> None:
    for name in OURS - {"token-file"}:
        variables = environment(compose, name)
        secret_variables = set(variables) & set(SECRET_FILES.values())
        assert secret_variables <= {"SCHEMA_REGISTRY_URL"}
        assert "@" not in variables.get("SCHEMA_REGISTRY_URL", "")  # it has no password
        secrets = compose["services"][name].get("secrets", [])
        assert list_secret_files(compose, name) == {f"/run/secrets/{each}" for each in secrets}
        assert secrets == (["principal-key"] if name in SIGNERS else [])
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    for name, secret in compose["secrets"].items():
        assert secret == {"file": f"./secrets/{name}"}
    assert "/secrets/" in ignored


def test_prometheus_asks_the_workers_and_the_gateway_where_they_answer(
    compose: dict[str, Any],
) -> None:
    file = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())
    targets = {
        target
        for job in file["scrape_configs"]
        for static in job["static_configs"]
        for target in static["targets"]
    }
    metrics = {name: load_settings(compose, name).metrics for name in WORKERS}
    ports = {name: Address.parse(where or "").port for name, where in metrics.items()}
    ours = {f"{name}:{port}" for name, port in ports.items()}
    assert targets >= {*ours, f"gateway:{PUBLISHED['gateway']}"}
    assert {target.partition(":")[0] for target in targets} <= set(compose["services"]) | {
        "localhost"
    }


def test_grafana_has_the_dashboards_where_its_provider_looks(compose: dict[str, Any]) -> None:
    grafana = compose["services"]["grafana"]
    mounted = dict(volume.split(":")[:2] for volume in grafana["volumes"])
    provisioning = ROOT / "deploy/grafana/provisioning"
    (provider,) = [
        provider
        for path in (provisioning / "dashboards").glob("*.y*ml")
        for provider in yaml.safe_load(path.read_text())["providers"]
    ]
    assert provider["options"]["path"] == mounted["./deploy/grafana/dashboards"]
    assert mounted["./deploy/grafana/provisioning"] == "/etc/grafana/provisioning"
    home = Path(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert (ROOT / "deploy/grafana/dashboards" / home.name).is_file()
    (source,) = [
        source
        for path in (provisioning / "datasources").glob("*.y*ml")
        for source in yaml.safe_load(path.read_text())["datasources"]
    ]
    assert source["url"] == f"http://prometheus:{PUBLISHED['prometheus']}"


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
    cluster_id = compose["services"]["kafka"]["environment"]["CLUSTER_ID"]
    assert len(base64.urlsafe_b64decode(cluster_id + "==")) == 16


def test_what_the_dockerfile_copies_is_there_and_not_ignored() -> None:
    context_files = {
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
        assert source in context_files


def test_pip_installs_nothing_in_the_image_without_its_hash() -> None:
    """Except for the wheel, which the step before has built, everything has a hash in a file."""
    installs = re.findall(r"pip install (.*?)(?: \\|$)", DOCKERFILE, re.MULTILINE)
    assert installs == [
        "--no-cache-dir --require-hashes -r requirements.txt",
        "--no-cache-dir --require-hashes -r requirements-build.txt",
        "--no-cache-dir --no-index --no-deps /tmp/dist/*.whl",
    ]


def test_settings_in_the_dockerfile_are_declared() -> None:
    named = set(re.findall(rf"\b{PREFIX}[A-Z_]+(?==)", DOCKERFILE))
    assert named
    assert named <= set(BY_ENV)


def test_the_state_directory_of_the_image_is_the_volume_that_compose_mounts(
    compose: dict[str, Any],
) -> None:
    match = re.search(r"HEADRACE_STATE_DIR=(\S+)", DOCKERFILE)
    assert match is not None
    assert f"VOLUME {match[1]}\n" in DOCKERFILE
    for name in (*WORKERS, "gateway"):
        (volume,) = compose["services"][name]["volumes"]
        assert volume.partition(":")[2] == match[1]


def test_the_image_runs_as_nobody_in_particular_and_says_how_it_is() -> None:
    last = DOCKERFILE.rpartition("FROM ")[2]
    user = re.search(r"^USER (\d+)$", last, re.MULTILINE)
    assert user is not None
    assert user[1] != "0"
    assert f"--uid {user[1]}" in last
    health = re.search(r'^HEALTHCHECK .*CMD \["headrace", "(\w+)"\]$', last, re.MULTILINE)
    assert health is not None
    assert run(health[1], "--help").exit_code == 0
