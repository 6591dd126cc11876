"""What others run on Java, from Maven, as the local broker has its jars from there."""

from __future__ import annotations

import shutil
from pathlib import Path

from streams.ops.broker.kafka_distribution import resolve

HERE = Path(__file__).parent


def files_of(pom: Path, folder: Path) -> list[str]:
    """The files of its dependencies: from Maven's cache, else downloaded.  folder: to write in."""
    maven = shutil.which("mvn")
    assert maven is not None, "Maven is needed (see the README)"
    output = ""
    for offline in (True, False):
        files, output = resolve(maven, pom, folder / "paths", offline=offline)
        if files is not None:
            return files
    raise AssertionError(output)
