"""A real schema registry as a process: Apicurio's, by its API that is compatible with Confluent's.

It keeps all in memory, so that stopping it for good loses its ids; `pause` makes it silent.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tarfile
from pathlib import Path
from typing import Self

import httpx

from streams.ops.broker.kafka_distribution import java
from tests.interop.maven import HERE, files_of
from tests.processes import wait_for

LIMIT_S = 120.0


class RealRegistry:
    """url: what SCHEMA_REGISTRY_URL is to be."""

    def __init__(self, folder: Path) -> None:
        (archive,) = files_of(HERE / "registry" / "pom.xml", folder)
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        (runner,) = folder.glob("*-runner.jar")
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
        self._log = folder / "registry.log"
        listen = [f"-Dquarkus.http.port={port}", "-Dquarkus.http.host=127.0.0.1"]
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                [java(), "-XX:TieredStopAtLevel=1", "-Xmx384m", *listen, "-jar", str(runner)],
                cwd=folder,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> Self:
        wait_for(self._answers, "the registry answers", LIMIT_S, 0.1)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        """It takes connections, and does not answer."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def _answers(self) -> bool:
        assert self._process.poll() is None, self._log.read_text(errors="replace")[-3000:]
        try:
            return httpx.get(f"{self.url}/subjects", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
