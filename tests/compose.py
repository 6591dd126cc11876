"""The compose file, and the variables and images of its services."""

from __future__ import annotations

import re
from typing import Any

import yaml

from streams.settings import PREFIX, SECRET_FILES, Settings
from tests.processes import ROOT

FILE = ROOT / "docker-compose.yml"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
WORKERS = ("worker-1", "worker-2")
_IMAGE = dict(re.findall(rf"\b({PREFIX}[A-Z_]+)=(\S+)", DOCKERFILE))

Compose = dict[str, Any]


def load() -> Compose:
    loaded: Compose = yaml.safe_load(FILE.read_text())
    return loaded


def environment(compose: Compose, name: str) -> dict[str, str]:
    """Return the variables of a service of ours, with those of its image."""
    service_variables: dict[str, str] = compose["services"][name]["environment"]
    return _IMAGE | service_variables


def load_settings(compose: Compose, name: str) -> Settings:
    """Load the settings of a service of ours, but no secrets: their files are in the container."""
    variables = environment(compose, name).items()
    return Settings.load({env: text for env, text in variables if env not in SECRET_FILES})


def list_secret_files(compose: Compose, name: str) -> set[str]:
    """Return the paths in a service of ours at which its variables expect secrets."""
    return {text for env, text in environment(compose, name).items() if env in SECRET_FILES}


def default_images(compose: Compose) -> dict[str, str]:
    """Return what an image is if its variable is not set, by variable."""
    texts = [service.get("image", "") for service in compose["services"].values()]
    texts.append(compose["services"]["gateway"]["build"]["args"]["PYTHON_IMAGE"])
    matches = [re.fullmatch(r"\$\{(\w+):-(\S+)\}", text) for text in texts if text]
    return {match[1]: match[2] for match in matches if match is not None}
