"""The command line: `headrace`, or `python -m headrace`."""

from streams.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
