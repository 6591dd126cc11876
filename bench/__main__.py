"""The table of `make bench`: `python -m bench [--quick]` is `python -m bench.comparison`."""

from __future__ import annotations

from bench.comparison import main

if __name__ == "__main__":
    main()
