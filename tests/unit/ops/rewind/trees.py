"""Git work trees for tests of the rewind."""

from __future__ import annotations

import subprocess
from pathlib import Path


class Tree:
    """A repository on branch `main`; commits: full hashes, oldest first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        for name, value in (("user.name", "t"), ("user.email", "t@t"), ("commit.gpgsign", "no")):
            self.git("config", name, value)
        self.commits: list[str] = []
        self.commit({"app.py": "one\n", "old.txt": "old\n", ".gitignore": "*.log\n"})
        self.commit({"app.py": "two\n", "src/new.py": "new\n", "old.txt": None})
        self.commit({"app.py": "three\n", "src/new.py": "newer\n", "src/last.py": "last\n"})

    def git(self, *args: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.path), *args], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, name: str, text: str | None) -> None:
        path = self.path / name
        if text is None:
            path.unlink()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, files: dict[str, str | None]) -> str:
        for name, text in files.items():
            self.write(name, text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", f"commit {len(self.commits)}")
        self.commits.append(self.git("rev-parse", "HEAD"))
        return self.commits[-1]

    @property
    def head(self) -> tuple[str, str | None]:
        """The commit, and the branch unless HEAD is detached."""
        branch = self.git("branch", "--show-current")
        return self.git("rev-parse", "HEAD"), branch or None

    @property
    def status(self) -> str:
        return self.git("status", "--porcelain", "--untracked-files=all")

    @property
    def branches(self) -> str:
        return self.git("for-each-ref", "--format=%(refname) %(objectname)")

    @property
    def journal(self) -> Path:
        return self.path / ".git" / "headrace-rewind.json"

    def files(self) -> dict[str, str]:
        """What lies in the work tree."""
        paths = (p for p in self.path.rglob("*") if p.is_file() and ".git" not in p.parts)
        return {p.relative_to(self.path).as_posix(): p.read_text() for p in paths}

    def files_of(self, commit: str) -> dict[str, str]:
        names = self.git("ls-tree", "-r", "--name-only", commit).splitlines()
        return {name: self.git("show", f"{commit}:{name}") + "\n" for name in names}
