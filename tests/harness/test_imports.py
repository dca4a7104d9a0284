"""What a host pays for that does not use the harness."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
import ebbtide
loaded = [name for name in sys.modules if name.startswith(("ebbtide.harness", "jinja2"))]
assert not loaded, loaded
import ebbtide.harness
assert not {"jinja2", "agentlane", "openai", "anthropic"} & set(sys.modules)
"""


def test_the_harness_is_loaded_only_when_asked_for() -> None:
    """A host that imports ebbtide gets no harness, and the harness no framework and no client."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
