"""The folder of an export: its lock, its files, and `headrace.json`, which says whose it is."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streams.analytics.errors import ExportForeign, ExportFormat, ExportRunning
from streams.analytics.parquet_files import FORMAT, make_private, remove_unfinished, write_json

MANIFEST = "headrace.json"
_LOCK = ".lock"
Json = dict[str, Any]


class Folder:
    """The folder of one log's export."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def segments(self, topic: str, partition: int) -> list[Path]:
        """Return the files of a partition's records, by offset."""
        return sorted(self._partition(topic, partition).glob("[0-9]*.parquet"))

    def segment(self, topic: str, partition: int, base: int) -> Path:
        return self._partition(topic, partition) / f"{base:020d}.parquet"

    def _partition(self, topic: str, partition: int) -> Path:
        return self.path / "records" / topic / str(partition)

    def table(self, topic: str, partition: int) -> Path:
        return self.path / "tables" / topic / f"{partition}.parquet"

    def manifest(self) -> Json | None:
        """Return what `headrace.json` says, None if there is none.  Raises ExportFormat."""
        path = self.path / MANIFEST
        try:
            value: Json = json.loads(path.read_text("utf-8"))
            is_newer = value["format"] > FORMAT
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as exc:
            raise ExportFormat(f"{path} is not that of an export") from exc
        if is_newer:
            raise ExportFormat(f"a later version of headrace has written {self.path}")
        return value

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        write_json(self.path / MANIFEST, manifest)


@contextmanager
def locked(path: Path) -> Iterator[Folder]:
    """Lock a folder for one export, make it if it is not there, and remove unfinished files.

    Raises ExportRunning, and ExportFormat for a file or a folder of other things.
    """
    _check_own(path)
    make_private(path)
    with (path / _LOCK).open("a") as file:
        (path / _LOCK).chmod(0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise ExportRunning(f"another export writes into {path}") from exc
        remove_unfinished(path)
        yield Folder(path)


def _check_own(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise ExportFormat(f"{path} is no folder")
    if path.is_dir() and not (path / MANIFEST).exists():
        foreign = sorted(each.name for each in path.iterdir() if not _is_ours(each.name))
        if foreign:
            raise ExportFormat(f"{path} has no {MANIFEST}, and something else: {foreign[0]}")


def _is_ours(name: str) -> bool:
    return name == _LOCK or (name.startswith(f".{MANIFEST}.") and name.endswith(".tmp"))


def check_owner(manifest: Mapping[str, Any], owner: Mapping[str, Any]) -> None:
    """Check that a folder belongs to this log.

    owner: `cluster_id`, `prefix`, and the `topics` with the id of each.
    Raises ExportForeign, which names the other one.
    """
    for name in ("cluster_id", "prefix"):
        if manifest[name] != owner[name]:
            raise ExportForeign(f"the folder has {name} {manifest[name]!r}, not {owner[name]!r}")
    for name, known in manifest["topics"].items():
        present = owner["topics"].get(name)
        if present is not None and present != known["topic_id"]:
            raise ExportForeign(f"{name} was created anew: its id was {known['topic_id']}")
