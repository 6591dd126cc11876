"""Kafka's jars, resolved by Maven from `pom.xml`, and the Java that runs them."""

from __future__ import annotations

import hashlib
import importlib.resources
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from streams.errors import BrokerUnavailable
from streams.ops.broker.home import Home

MIN_JAVA = 17
ADVICE = (
    "Install Java 17 or later and Maven, or Docker and `pip install 'headrace[container]'`, "
    "or set HEADRACE_BOOTSTRAP to a broker that runs."
)
_MAVEN_LIMIT_S = 900
_POM = importlib.resources.files("streams.ops.broker") / "pom.xml"


def java() -> str:
    """Return the path of `java`.  Raises BrokerUnavailable if there is none."""
    path = shutil.which("java")
    if path is None:
        raise BrokerUnavailable("`java` is not on the PATH", advice=ADVICE)
    return path


def java_major(path: str) -> int | None:
    """Return 17 for Java 17.0.15, 8 for Java 1.8; None if it does not run."""
    try:
        completed = subprocess.run(
            [path, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', completed.stderr + completed.stdout)
    return int(match[1]) if match else None


def cached(home: Home) -> list[str] | None:
    """Return the class path of an earlier start, if it fits this `pom.xml` and its files exist."""
    try:
        digest, *paths = home.classpath.read_text().splitlines()
    except (OSError, ValueError):
        return None
    is_valid = digest == pom_digest() and paths and all(Path(path).is_file() for path in paths)
    return paths if is_valid else None


def classpath(home: Home, progress: Callable[[str], None]) -> list[str]:
    """Return the jars, from the cache, from Maven's own cache, or downloaded.

    Raises BrokerUnavailable if Maven is missing or cannot get them.
    """
    if (paths := cached(home)) is not None:
        return paths
    maven = shutil.which("mvn")
    if maven is None:
        raise BrokerUnavailable("`mvn` (Maven) is not on the PATH", advice=ADVICE)
    progress("resolving Kafka's jars with Maven")
    resolved, _ = _resolve(maven, home, offline=True)
    if resolved is None:
        progress("downloading Kafka's jars with Maven (about 40 MB, once)")
        resolved, output = _resolve(maven, home, offline=False)
        if resolved is None:
            raise BrokerUnavailable(
                f"Maven could not get Kafka's jars: {output}",
                advice="Let Maven reach a repository once (proxy or mirror: ~/.m2/settings.xml), "
                "or set HEADRACE_BOOTSTRAP to a broker that runs.",
            )
    home.classpath.write_text("\n".join([pom_digest(), *resolved]) + "\n")
    return resolved


def _resolve(maven: str, home: Home, *, offline: bool) -> tuple[list[str] | None, str]:
    """Return the jars, or None and Maven's output."""
    with importlib.resources.as_file(_POM) as pom:
        return resolve(maven, pom, home.path / "classpath.maven", offline=offline)


def resolve(maven: str, pom: Path, output: Path, *, offline: bool) -> tuple[list[str] | None, str]:
    """Return the files of a pom's dependencies, or None and Maven's output.

    output: a temporary file.
    """
    output.unlink(missing_ok=True)
    command = [maven, "-q", "-B", "-f", str(pom), "dependency:build-classpath"]
    command += ["-Dmdep.includeScope=runtime", f"-Dmdep.outputFile={output.resolve()}"]
    try:
        completed = subprocess.run(
            [*command, "-o"] if offline else command,
            capture_output=True,
            text=True,
            timeout=_MAVEN_LIMIT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer within {_MAVEN_LIMIT_S} s"
    except OSError as exc:
        return None, str(exc)
    if completed.returncode != 0 or not output.is_file():
        return None, _first_error(completed.stdout + completed.stderr)
    paths = output.read_text().strip().split(":")
    output.unlink()
    return paths, ""


def _first_error(output: str) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output)
    errors = [line.strip() for line in plain.splitlines() if line.strip()]
    return errors[0].removeprefix("[ERROR]").strip() if errors else "it said nothing"


def pom_digest() -> str:
    """Return a digest that identifies the jars of a class path."""
    return hashlib.sha256(_POM.read_bytes()).hexdigest()
