"""Check what `make setup` does about the compiled codec, with a Python and a cargo that pretend."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.processes import ROOT

NATIVE = ROOT / "native"
LIBRARY = "libheadrace_native.so"
CARGO = f"""
echo "$1" >> "$CALLS"
case $1 in
generate-lockfile) printf '# a\\n# b\\nsource = "registry"\\n' > Cargo.lock ;;
build) mkdir -p "$5/release" && echo compiled > "$5/release/{LIBRARY}" ;;
esac
"""
NO_NETWORK = "echo 'failed to fetch' >&2; exit 101"


class Machine:
    """A checkout's `native/`, an environment and a PATH, all in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.native = folder / "native"
        self.module = folder / "site" / "headrace_native.abi3.so"
        self.path = folder / "path"
        for part in (self.module.parent, self.path, folder / "venv/bin"):
            part.mkdir(parents=True)
        shutil.copytree(NATIVE, self.native, ignore=shutil.ignore_patterns("Cargo.lock*", "target"))
        self.program(folder / "venv/bin/python", f"echo {self.module.parent}")
        for name in ("sh", "cat", "cksum", "sed", "grep", "awk", "mv", "cp", "mkdir", "dirname"):
            (self.path / name).symlink_to(str(shutil.which(name)))

    def program(self, path: Path, text: str) -> None:
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def build(self) -> str:
        environ = {"PATH": str(self.path), "CALLS": str(self.folder / "calls")}
        command = ["sh", str(self.native / "build.sh"), str(self.folder / "venv")]
        ran = subprocess.run(
            command, env=environ, capture_output=True, text=True, timeout=60, check=True
        )
        assert ran.stderr == ""
        return ran.stdout

    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().split()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_cargo_it_says_so_and_goes_on(machine: Machine) -> None:
    (line,) = machine.build().splitlines()
    assert line.startswith("cargo is not installed: the codec runs in Python")
    assert not machine.module.exists()


def test_without_the_crates_it_says_so_and_goes_on(machine: Machine) -> None:
    machine.program(machine.path / "cargo", NO_NETWORK)
    (line,) = machine.build().splitlines()
    assert line.startswith("the codec cannot be compiled, so it runs in Python: see ")
    assert "failed to fetch" in Path(line.rpartition(" ")[2]).read_text()
    assert not machine.module.exists()


def test_it_is_compiled_again_only_when_its_sources_have_changed(machine: Machine) -> None:
    machine.program(machine.path / "cargo", CARGO)
    assert machine.build() == "the codec is compiled\n"
    assert machine.module.read_text() == "compiled\n"
    assert machine.calls() == ["generate-lockfile", "build"]
    assert machine.build() == ""
    assert len(machine.calls()) == 2
    with (machine.native / "src/lib.rs").open("a") as source:
        source.write("// more\n")
    assert machine.build() == "the codec is compiled\n"
    assert machine.calls()[2:] == ["build"]


def test_the_crates_are_the_pinned_ones_of_the_registry_that_cargo_names(machine: Machine) -> None:
    machine.program(machine.path / "cargo", CARGO)
    machine.build()
    pinned = (NATIVE / "crates.lock").read_text().splitlines()[2:]
    lock = (machine.native / "Cargo.lock").read_text().splitlines()
    assert lock[:2] == ["# a", "# b"]
    assert [line for line in lock[2:] if line != 'source = "registry"'] == pinned
    for number, line in enumerate(lock):
        if line.startswith("checksum = "):
            assert lock[number - 1] == 'source = "registry"'
