"""Dashboard, alerts and scrape configuration speak of metrics, labels and services that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.asap import metrics as asap_metrics
from streams.docs import dashboard
from streams.doors.otlp.exporter import metrics as export_metrics
from streams.engine import metrics as worker_metrics
from streams.gateway import metrics as gateway_metrics
from streams.ops.tlog import writer_metrics
from streams.settings import SECRET_FILES, Settings
from streams.settings.addresses import Address
from streams.telemetry.metrics import MetricDeclaration

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus/rules/headrace.yml"
DECLARED: tuple[MetricDeclaration, ...] = (
    *worker_metrics.ALL,
    *gateway_metrics.ALL,
    *export_metrics.ALL,
    *writer_metrics.ALL,
    *asap_metrics.ALL,
)
ADDED_BY_PROMETHEUS = {"job", "instance"}
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not installed (Debian's package prometheus has it)"
)


def exported() -> dict[str, set[str]]:
    """Return every series by name, with its labels."""
    labels: dict[str, set[str]] = {"up": {"job", "instance"}}
    for declared in DECLARED:
        label_names = set(declared.labels) | ADDED_BY_PROMETHEUS
        if declared.kind == "histogram":
            labels[f"{declared.name}_bucket"] = label_names | {"le"}
            labels[f"{declared.name}_count"] = labels[f"{declared.name}_sum"] = label_names
        else:
            labels[declared.name] = label_names
    return labels


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def queries() -> dict[str, str]:
    """Return those of the dashboard and the alerts, by where they stand."""
    expressions = {f"alert {rule['alert']}": rule["expr"] for rule in alerts()}
    for panel in json.loads(dashboard.PATH.read_text())["panels"]:
        for target in panel.get("targets", ()):
            expressions[f"{panel['title']} {target['refId']} {panel['id']}"] = target["expr"]
    return expressions


def names_in(query: str) -> set[str]:
    return set(re.findall(r"\b(?:headrace|asap)_\w+|\bup\b", re.sub(r'"[^"]*"', '""', query)))


def labels_in(query: str) -> set[str]:
    matched = [
        name
        for inside in re.findall(r"\{([^}]*)\}", query)
        for name in re.findall(r"(\w+)\s*[=!]~?", inside)
    ]
    grouped = [
        name.strip()
        for inside in re.findall(r"by \(([^)]*)\)", query)
        for name in inside.split(",")
    ]
    return {*matched, *grouped}


def test_two_processes_export_no_metric_under_one_name() -> None:
    """One declaration that both export means the same in both; `instance` tells them apart."""
    by_name = {declared.name: declared for declared in DECLARED}
    assert all(by_name[declared.name] is declared for declared in DECLARED)


@pytest.mark.parametrize("where", queries())
def test_queries_name_metrics_and_labels_that_are_declared(where: str) -> None:
    query, known = queries()[where], exported()
    names = names_in(query)
    assert names
    assert names <= set(known)
    assert labels_in(query) <= set().union(*(known[name] for name in names))


def test_every_metric_is_on_the_dashboard() -> None:
    """ASAP's own have their protocol's names, and dashboards that others made."""
    dashboard_names = set().union(*map(names_in, queries().values()))
    metrics = (
        *worker_metrics.ALL,
        *gateway_metrics.ALL,
        *export_metrics.ALL,
        *writer_metrics.ALL,
    )
    suffixes = ("", "_bucket", "_count", "_sum")
    missing = [
        d.name for d in metrics if not {d.name + suffix for suffix in suffixes} & dashboard_names
    ]
    assert missing == []


def test_the_dashboard_is_what_its_panels_say() -> None:
    assert dashboard.drift() == [], "run: python -m streams.docs"


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard.document()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_the_dashboard_asks_the_source_that_is_provisioned() -> None:
    provisioned = yaml.safe_load(
        (DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text()
    )
    (source,) = provisioned["datasources"]
    assert {"type": source["type"], "uid": source["uid"]} == dashboard.SOURCE


def test_each_alert_is_explained() -> None:
    page = (ROOT / "docs/observability.md").read_text()
    for rule in alerts():
        assert f"`{rule['alert']}`" in page
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
        assert rule["annotations"]["summary"]


def test_what_is_scraped_are_the_services_of_the_compose_file() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    image = re.findall(r"\b(HEADRACE_METRICS)=(\S+)", (ROOT / "Dockerfile").read_text())
    jobs = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())["scrape_configs"]
    targets = {
        Address.parse(target): job["job_name"]
        for job in jobs
        for config in job["static_configs"]
        for target in config["targets"]
    }
    assert {address.host for address in targets} == {"worker-1", "worker-2", "gateway"}
    for address, job in targets.items():
        environment = {k: str(v) for k, v in services[address.host]["environment"].items()}
        named = {
            k: v
            for k, v in environment.items()
            if k.startswith("HEADRACE_") and k not in SECRET_FILES
        }
        settings = Settings().assign(dict(image) | named)
        listens = settings.gateway if job == "headrace-gateway" else settings.metrics
        assert listens == f"0.0.0.0:{address.port}", address


@needs_promtool
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "config", "deploy/prometheus/prometheus.yml"),
        ("check", "rules", "deploy/prometheus/rules/headrace.yml"),
        ("test", "rules", "tests/data/alerts_test.yml"),
    ],
    ids=" ".join,
)
def test_promtool_agrees(arguments: tuple[str, ...]) -> None:
    assert PROMTOOL is not None
    done = subprocess.run(
        [PROMTOOL, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_promtool_can_parse_every_query_of_the_dashboard(tmp_path: Path) -> None:
    assert PROMTOOL is not None
    expressions = [query.replace("$__rate_interval", "5m") for query in queries().values()]
    rules = [{"record": f"query:{number}", "expr": expr} for number, expr in enumerate(expressions)]
    path = tmp_path / "queries.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    done = subprocess.run(
        [PROMTOOL, "check", "rules", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_collector_has_what_its_pipelines_name() -> None:
    config = yaml.safe_load((DEPLOY / "otel-collector/config.yaml").read_text())
    pipelines = config["service"]["pipelines"]
    for part in ("receivers", "exporters"):
        assert {name for each in pipelines.values() for name in each[part]} == set(config[part])
    from_headrace = [each for each in pipelines.values() if "otlp/headrace" in each["receivers"]]
    assert not any("otlp_http/headrace" in each["exporters"] for each in from_headrace)


def test_the_collector_scrapes_what_prometheus_scrapes() -> None:
    collector = yaml.safe_load((DEPLOY / "otel-collector/config.yaml").read_text())
    prometheus = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    scraped = [
        {
            (job["job_name"], target)
            for job in jobs
            for config in job["static_configs"]
            for target in config["targets"]
        }
        for jobs in (
            collector["receivers"]["prometheus"]["config"]["scrape_configs"],
            prometheus["scrape_configs"],
        )
    ]
    assert scraped[0] == scraped[1]
