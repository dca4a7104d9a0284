"""`python -m chaos.worker MINOR [ARGUMENT]...`: the command `ebbtide` in a fleet of mixed versions."""

from __future__ import annotations

import sys

from chaos.minor import Minor, speak
from ebbtide_cli.main import app


def main() -> None:
    """Run the command as the minor version that is named first."""
    speak(Minor(sys.argv.pop(1)))
    app()


if __name__ == "__main__":
    main()
