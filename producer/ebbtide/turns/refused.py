"""A job that was not admitted, and how long its session asks for no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ebbtide_core.contract.tenant import REFRESH_SECONDS, Refusal
from ebbtide_core.jsonio import digest
from ebbtide_core.names import Owner

JITTER: Final = 0.25
"""At most this share of the pause is added to it, so that the sessions of a tenant don't come together."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a job was not admitted, and until when (monotonic clock) its session asks for none."""

    reason: Refusal
    until: float


def pause(owner: Owner, epoch: int) -> float:
    """Return the seconds for which a session asks for no job: others for each session and each claim."""
    drawn = digest(b"ebbtide/pause/1", f"{owner.member}:{epoch}".encode())
    return REFRESH_SECONDS * (1 + JITTER * int.from_bytes(drawn[:4]) / 2**32)
