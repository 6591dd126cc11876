"""The compose file, and what its services are given."""

from __future__ import annotations

import re
from typing import Any

import yaml

from streams.settings import PREFIX
from tests.processes import ROOT

FILE = ROOT / "docker-compose.yml"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
WORKERS = ("worker-1", "worker-2")
_IMAGE = dict(re.findall(rf"\b({PREFIX}[A-Z_]+)=(\S+)", DOCKERFILE))

Compose = dict[str, Any]


def load() -> Compose:
    loaded: Compose = yaml.safe_load(FILE.read_text())
    return loaded


def environment(compose: Compose, name: str, host: dict[str, str] | None = None) -> dict[str, str]:
    """The variables of a service of ours, those of its image among them.  host: where it runs."""

    def filled(match: re.Match[str]) -> str:
        return (host or {}).get(match[1], match[2])

    service_variables: dict[str, str] = compose["services"][name]["environment"]
    return _IMAGE | {
        k: re.sub(r"\$\{(\w+):-(.*?)\}", filled, text) for k, text in service_variables.items()
    }
