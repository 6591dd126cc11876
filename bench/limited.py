"""Run a module under a limit of open files, as a service manager would.

python -m bench.limited --open-files 1024 MODULE [ARGUMENT ...]
"""

from __future__ import annotations

import argparse
import os
import resource
import sys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--open-files", type=int, required=True, help="the soft and the hard limit")
    parser.add_argument("module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (options.open_files, options.open_files))
    os.execv(sys.executable, [sys.executable, "-m", options.module, *options.arguments])


if __name__ == "__main__":
    main()
