"""A local stand-in for the Anthropic Messages API: a real HTTP server that the real SDK talks to.

Use `StandIn` inside a test process, `Process` for one of its own, or by hand `python -m tests.standin`.
`Control` steers either of them and reads what they were asked. `kinds.MEANING` lists what can be made to
happen, `errors.PRESETS` the errors among it, `behaviour.Settings` everything that can be set.

Coverage: put `MSGID-<word>` into messages. A good summary names all that its request held in `completed`
(packed, so that any number fits) and the first ones in `identifiers`, so they travel through every merge.
"""

from tests.standin.behaviour import Behaviour, Kind, Rate, Settings
from tests.standin.control import Control
from tests.standin.latency import Drawn, LogNormal, Uniform
from tests.standin.limits import Limits
from tests.standin.process import Process
from tests.standin.server import StandIn

__all__ = [
    "Behaviour",
    "Control",
    "Drawn",
    "Kind",
    "Limits",
    "LogNormal",
    "Process",
    "Rate",
    "Settings",
    "StandIn",
    "Uniform",
]
