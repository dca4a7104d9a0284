"""The program of a host process: `python -m bench.load.serve CONFIG` prints one line of JSON in the end."""

from __future__ import annotations

import asyncio
import json
import sys

from bench.load.host import Config, lived
from ebbtide_core.budget.tokens import tokenizer


def main() -> None:
    """Live the sessions that the argument describes, then tell."""
    tokenizer()
    told = asyncio.run(lived(Config.from_json(sys.argv[1])))
    print(json.dumps(vars(told)), flush=True)


if __name__ == "__main__":
    main()
