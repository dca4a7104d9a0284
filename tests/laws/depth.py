"""How many random examples each law is tried with: few by default, `EBBTIDE_EXAMPLES=5000` for a deep run."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import settings

EXAMPLES: Final = int(os.environ.get("EBBTIDE_EXAMPLES", "20"))

law = settings(max_examples=EXAMPLES)
"""Put above `@given`."""
