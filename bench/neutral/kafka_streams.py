"""Kafka Streams: its program in `bench/kstreams`, built by Maven, and the command that runs it."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

from bench.peer import SESSION_TIMEOUT_S
from streams.ops.broker.kafka_distribution import MIN_JAVA, java_major

PROJECT = Path(__file__).parents[1] / "kstreams"
TARGET = PROJECT / "target"
MAIN = "bench.neutral.Tickets"
DIGEST = TARGET / "sources.sha256"
LIMIT_S = 900
HEAP = "-Xmx1g"
"""The size of the heap; the default is a quarter of the machine's memory."""


class NotBuilt(Exception):
    """An error that says why Kafka Streams cannot run here."""


def command(*settings: str) -> list[str]:
    """Return the command of a process.  settings: of Kafka Streams, as NAME=VALUE."""
    jars = f"{TARGET / 'kstreams.jar'}:{TARGET / 'dependency'}/*"
    flags = [HEAP, "-Dorg.apache.avro.specific.use_custom_coders=true"]
    flags.append("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
    timeout = f"consumer.session.timeout.ms={SESSION_TIMEOUT_S * 1000}"
    return ["java", *flags, "-cp", jars, MAIN, timeout, *settings]


def build() -> None:
    """Build the program, unless it is built from these sources.  Raises NotBuilt."""
    java, maven = shutil.which("java"), shutil.which("mvn")
    if java is None or (java_major(java) or 0) < MIN_JAVA:
        raise NotBuilt(f"no Java {MIN_JAVA} or later on the PATH")
    digest = sources_digest()
    if DIGEST.is_file() and DIGEST.read_text() == digest:
        return
    if maven is None:
        raise NotBuilt("no Maven on the PATH")
    output = ""
    for offline in (["-o"], []):
        output = _package([maven, "-q", "-B", "-f", str(PROJECT / "pom.xml"), "package", *offline])
        if not output:
            DIGEST.write_text(digest)
            return
    raise NotBuilt(f"Maven cannot build it: {output}")


def _package(words: list[str]) -> str:
    """Return the first line of Maven's errors; empty if it has built."""
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        return str(exc)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    return "" if done.returncode == 0 else (lines or ["it said nothing"])[0][:200]


def sources_digest() -> str:
    """Return a digest of what the program is built from."""
    folders = (PROJECT / "src", Path(__file__).parent / "avro")
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for path in [PROJECT / "pom.xml", *files]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of the libraries in the class path."""
    jar_versions = {}
    for name in ("kafka-streams", "avro"):
        for path in (TARGET / "dependency").glob(f"{name}-[0-9]*.jar"):
            jar_versions[f"{name} (Java)"] = path.stem.removeprefix(f"{name}-")
    return jar_versions
