"""A worker process with the toy processor.

`python -m tests.toy_worker [second] [static] [tolerant] [lasting]`: reads `toy.second` too; joins
the group as a static member; decides poison as well; its session ends after twenty minutes.
"""

from __future__ import annotations

import logging
import sys

from streams.engine.faust_host import thread
from streams.engine.worker import run_worker
from streams.errors import HeadraceError
from streams.settings import Settings
from tests.toy import ToyProcessor


def main(arguments: list[str]) -> int:
    logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(name)s %(message)s")
    if "lasting" in arguments:
        thread.SESSION_TIMEOUT_S = 1200.0
    second, tolerant = "second" in arguments, "tolerant" in arguments
    try:
        run_worker(
            Settings.load(),
            lambda: [ToyProcessor(second=second, tolerant=tolerant)],
            static="static" in arguments,
        )
    except HeadraceError as exc:
        print(f"stopped: {type(exc).__name__}: {exc}", flush=True)
        return exc.exit_code
    print("stopped: cleanly", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
