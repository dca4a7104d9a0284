"""`python -m chaos.host CONFIG`: one agent host, a process with several sessions, until SIGTERM.

`CHAOS_SHIFT` is how many seconds its wall clock is wrong by, before anything else is imported: no protocol
may depend on it.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Final

SHIFT: Final = "CHAOS_SHIFT"


def main() -> None:
    """Take turns until told to stop."""
    shift_clock(float(os.environ.get(SHIFT, "0")))
    from chaos.hosting import serve

    serve(sys.argv[1])


def shift_clock(seconds: float) -> None:
    """Let this process's wall clock be wrong by so much from now on."""
    right = time.time
    time.time = lambda: right() + seconds


if __name__ == "__main__":
    main()
