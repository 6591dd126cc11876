"""`python -m tests.data.unchanged`."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.data.unchanged import MANIFESTS
from tests.data.unchanged.manifest import compare, read, save, write
from tests.processes import ROOT


@click.command()
@click.argument("manifests", nargs=-1, type=click.Choice(list(MANIFESTS)))
@click.option("--write", "writes", is_flag=True, help="Write the manifests anew.")
@click.option("--save", "folder", type=click.Path(path_type=Path), help="Write the texts there.")
@click.option("--since", metavar="COMMIT", help="Show how the texts differ from a commit's.")
def main(manifests: tuple[str, ...], writes: bool, folder: Path | None, since: str | None) -> None:
    """Compare what users see with the manifests (default: both); exit 1 when it differs."""
    chosen = manifests or tuple(MANIFESTS)
    if since is not None:
        sys.exit(_show(since, chosen))
    differences = 0
    for name in chosen:
        texts = MANIFESTS[name]()
        for difference in compare(read(name), texts):
            click.echo(f"{name}  {difference}")
            differences += 1
        if folder is not None:
            save(texts, folder / name)
        if writes:
            write(name, texts)
    sys.exit(bool(differences) and not writes and folder is None)


def _show(commit: str, chosen: Sequence[str]) -> int:
    """The texts that the code of a commit makes beside those of this checkout; 1 if they differ."""
    with TemporaryDirectory(prefix="unchanged-") as name:
        folder = Path(name)
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, stdout=-1, check=True).stdout
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(folder / "checkout", filter="data")
        for home, side in ((folder / "checkout", "before"), (ROOT, "now")):
            module = [sys.executable, "-m", "tests.data.unchanged", *chosen]
            subprocess.run(
                [*module, "--save", folder / side], cwd=home, check=True, stdout=subprocess.DEVNULL
            )
        return subprocess.run(["git", "diff", "--no-index", "before", "now"], cwd=folder).returncode


if __name__ == "__main__":
    main()
