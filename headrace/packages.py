"""The check that Python imports headrace's own packages.

Their names, `schemas`, `topology` and `streams`, are common words: another distribution, or a
folder of the user's own, may have them too.  Python then imports whichever comes first, and the
failure would be an ImportError about a name that nobody has heard of.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("schemas", "topology", "streams")
MARK = re.compile(r'^__distribution__ = "headrace"$', re.MULTILINE)
"""The line by which the `__init__.py` of each package says whose it is."""


class PackageShadowed(ImportError):
    """An error for a package of another distribution where headrace's own is needed."""


def require_own_packages() -> None:
    """Raise PackageShadowed when Python imports another package by the name of one of ours."""
    home = Path(__file__).resolve().parents[1]
    for name in PACKAGES:
        path = _path_of(name)
        if path is None or path != home / name / "__init__.py" or not _is_marked(path):
            raise PackageShadowed(_message(name, path, home), name=name)


def _path_of(name: str) -> Path | None:
    """Return the file that Python imports as this package, or has imported; None for no file."""
    try:
        spec = find_spec(name)
    except ValueError:  # a module that somebody has put together by hand
        origin = getattr(sys.modules[name], "__file__", None)
    else:
        origin = None if spec is None else spec.origin
    return None if origin is None else Path(origin).resolve()


def _is_marked(path: Path) -> bool:
    return MARK.search(path.read_text(encoding="utf-8")) is not None


def _message(name: str, path: Path | None, home: Path) -> str:
    """Return what is wrong, and what to do about it."""
    owners = sorted({*packages_distributions().get(name, ())} - {"headrace"})
    if path is None:
        what = f"has no package `{name}` with a file, though headrace brings one"
    elif path.is_relative_to(home / name):
        what = f"has overwritten headrace's package `{name}` by another one, in {path}"
    else:
        what = f"imports another package `{name}`, {path}, instead of headrace's own in {home}"
    if owners:
        cure = f"`{name}` also belongs to {', '.join(owners)}: install headrace in an environment"
        return f"This Python {what}. {cure} without that, or again after it is uninstalled."
    if path is not None and not path.is_relative_to(home / name):
        return f"This Python {what}. Rename that folder, or start Python elsewhere."
    return f"This Python {what}. Install headrace again: `pip install --force-reinstall headrace`."
