"""Times LangChain's approximate count of messages beside a recount in the same process."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version


def main() -> None:
    """Read messages and a number of rounds, write seconds of each."""
    from langchain_core.messages.utils import convert_to_messages, count_tokens_approximately

    given = json.load(sys.stdin)
    messages = given["messages"]
    converted = convert_to_messages(messages)
    rivals: dict[str, Callable[[], object]] = {
        "count": lambda: count_tokens_approximately(converted),
        "recount": lambda: len(json.dumps(messages)) // 4,
    }
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(given["rounds"]):
        for name, work in rivals.items():
            began = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - began)
    json.dump({"seconds": seconds, "version": version("langchain-core")}, sys.stdout)


if __name__ == "__main__":
    main()
