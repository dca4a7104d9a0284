"""The yardstick: the same calls in a plain asyncio loop over the SDK, without Ebbtide.

It runs in a process of its own: bodies and settings as JSON on stdin, figures as JSON on stdout.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from bench.work.process import ROOT


def measured(url: str, bodies: Sequence[dict[str, Any]], in_flight: int) -> tuple[float, float]:
    """Return the seconds and the processor seconds that these requests take, `in_flight` at a time."""
    given = json.dumps({"url": url, "bodies": list(bodies), "in_flight": in_flight})
    done = subprocess.run(
        [sys.executable, "-c", "from bench.work.yardstick import main; main()"],
        input=given.encode(),
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "no_proxy": "127.0.0.1"},
        check=True,
    )
    seconds, cpu = json.loads(done.stdout)
    return float(seconds), float(cpu)


async def _run(url: str, bodies: Sequence[dict[str, Any]], in_flight: int) -> tuple[float, float]:
    from anthropic import AsyncAnthropic

    slots = asyncio.Semaphore(in_flight)
    async with AsyncAnthropic(api_key="bench", base_url=url, max_retries=0) as client:

        async def ask(body: dict[str, Any]) -> None:
            async with slots:
                answer = await client.messages.create(**body)
                json.loads(answer.content[0].text)

        await asyncio.gather(*map(ask, bodies[:in_flight]))  # connections are open from here on
        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*map(ask, bodies))
        return time.perf_counter() - began, time.process_time() - cpu


def main() -> None:
    """Make the calls that stdin asks for."""
    print(json.dumps(asyncio.run(_run(**json.load(sys.stdin)))))
