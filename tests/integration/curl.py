"""curl, as far as the README uses it, for machines that have none."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import httpx


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("-s", "--silent", action="store_true")
    parser.add_argument("-N", "--no-buffer", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("-H", "--header", action="append", default=[])
    arguments = parser.parse_args()
    headers = dict(header.split(": ", 1) for header in arguments.header)
    headers |= {"content-type": "application/json"} if arguments.json else {}
    method, body = ("POST", _body(arguments.json)) if arguments.json else ("GET", None)
    with httpx.stream(method, arguments.url, content=body, headers=headers, timeout=60) as response:
        for chunk in response.iter_raw():
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()


def _body(argument: str) -> bytes:
    match argument:
        case "@-":
            return sys.stdin.buffer.read()
        case str() if argument.startswith("@"):
            return Path(argument[1:]).read_bytes()
        case _:
            return argument.encode()


if __name__ == "__main__":
    main()
