"""A script that runs a command which gets SIGTERM when its parent process ends (Linux).

    python launch.py PARENT-PID COMMAND [ARGUMENT …]

It runs as a script, so it imports nothing of this package.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() == parent:  # else the parent ended before prctl, and no signal would come
        os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
