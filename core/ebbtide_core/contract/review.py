"""A degraded turn as it stands in a session's review list: figures and names, no content."""

from __future__ import annotations

from pydantic import Field

from ebbtide_core.contract.base import Contract


class ReviewEntry(Contract):
    """What one degraded turn was sent. Sizes are in tokens of the model, `omitted` counts messages.

    `turn` is the session's counted turn; `action`, `reason` and `rung` are those of the turn's report.
    """

    turn: int = Field(ge=0)
    action: str
    reason: str
    rung: str
    projected: int = Field(ge=0)
    sent: int = Field(ge=0)
    window: int = Field(ge=0)
    omitted: int = Field(ge=0)
    model: str
