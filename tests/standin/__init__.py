"""A local stand-in for Anthropic's Messages API, OpenAI's Chat Completions and Responses: a real HTTP server
that the real SDKs talk to. Behaviours, limits and log are the same for all.

Use `StandIn` inside a test process, `Process` for one of its own, or by hand `python -m tests.standin`.
`Control` steers either of them and reads what they were asked. `kinds.MEANING` lists what can be made to
happen, `errors.PRESETS` the errors among it, `behaviour.Settings` everything that can be set.

Coverage: put `MSGID-<word>` into messages. A good summary names all that its request held in `completed`
(packed, so that any number fits) and the first ones in `identifiers`, so they travel through every merge.
"""

from tests.standin.behaviour import Behaviour, Call, Kind, Rate, Settings
from tests.standin.control import Control
from tests.standin.latency import Drawn, LogNormal, Uniform
from tests.standin.limits import Limits
from tests.standin.process import Process
from tests.standin.server import StandIn

__all__ = [
    "Behaviour",
    "Call",
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
