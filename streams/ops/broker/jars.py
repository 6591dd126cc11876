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

JAVA_LEAST = 17
ADVICE = (
    "Install Java 17 or later and Maven, or Docker and `pip install 'headrace[container]'`, "
    "or set HEADRACE_BOOTSTRAP to a broker that runs."
)
_MAVEN_LIMIT_S = 900
_POM = importlib.resources.files("streams.ops.broker") / "pom.xml"


def java() -> str:
    """The path of a `java` that can run Kafka."""
    path = shutil.which("java")
    if path is None:
        raise BrokerUnavailable("`java` is not on the PATH", advice=ADVICE)
    return path


def java_major(path: str) -> int | None:
    """17 for Java 17.0.15, 8 for Java 1.8; None when it does not run."""
    try:
        ran = subprocess.run(
            [path, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', ran.stderr + ran.stdout)
    return int(found[1]) if found else None


def cached(home: Home) -> list[str] | None:
    """The class path found by an earlier start, if it is of this `pom.xml` and still there."""
    try:
        digest, *paths = home.classpath.read_text().splitlines()
    except (OSError, ValueError):
        return None
    whole = digest == pom_digest() and paths and all(Path(path).is_file() for path in paths)
    return paths if whole else None


def classpath(home: Home, progress: Callable[[str], None]) -> list[str]:
    """The jars, from the cache, from Maven's own cache, or downloaded.

    Raises BrokerUnavailable when Maven is missing or cannot get them.
    """
    if (known := cached(home)) is not None:
        return known
    maven = shutil.which("mvn")
    if maven is None:
        raise BrokerUnavailable("`mvn` (Maven) is not on the PATH", advice=ADVICE)
    progress("resolving Kafka's jars with Maven")
    found, _ = _resolve(maven, home, offline=True)
    if found is None:
        progress("downloading Kafka's jars with Maven (about 40 MB, once)")
        found, said = _resolve(maven, home, offline=False)
        if found is None:
            raise BrokerUnavailable(
                f"Maven could not get Kafka's jars: {said}",
                advice="Let Maven reach a repository once (proxy or mirror: ~/.m2/settings.xml), "
                "or set HEADRACE_BOOTSTRAP to a broker that runs.",
            )
    home.classpath.write_text("\n".join([pom_digest(), *found]) + "\n")
    return found


def _resolve(maven: str, home: Home, *, offline: bool) -> tuple[list[str] | None, str]:
    """The jars, or None and what Maven said."""
    with importlib.resources.as_file(_POM) as pom:
        return resolve(maven, pom, home.path / "classpath.maven", offline=offline)


def resolve(maven: str, pom: Path, output: Path, *, offline: bool) -> tuple[list[str] | None, str]:
    """The files that the dependencies of a pom are, or None and what Maven said.

    output: written for a while.
    """
    output.unlink(missing_ok=True)
    command = [maven, "-q", "-B", "-f", str(pom), "dependency:build-classpath"]
    command += ["-Dmdep.includeScope=runtime", f"-Dmdep.outputFile={output.resolve()}"]
    try:
        ran = subprocess.run(
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
    if ran.returncode != 0 or not output.is_file():
        return None, _first_error(ran.stdout + ran.stderr)
    paths = output.read_text().strip().split(":")
    output.unlink()
    return paths, ""


def _first_error(said: str) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
    errors = [line.strip() for line in plain.splitlines() if line.strip()]
    return errors[0].removeprefix("[ERROR]").strip() if errors else "it said nothing"


def pom_digest() -> str:
    """Which jars a class path is of."""
    return hashlib.sha256(_POM.read_bytes()).hexdigest()
