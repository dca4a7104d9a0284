"""The scripts of a provider account's limiter and breaker, which all workers share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ebbtide_core import names
from ebbtide_core.contract.tenant import BlockReason
from ebbtide_core.limiter import Answer, Standing, Told, Verdict
from ebbtide_core.store.script import Call, ms, text

if TYPE_CHECKING:
    from collections.abc import Sequence

TTL_SECONDS: Final = 3_600.0
"""How long what was learnt of an account is kept after the last call: longer than any block stands."""


def admit(
    account_id: str, *, ticket: int = 0, waited: float = 0.0, patience: float, answered: int = 0
) -> Call[Answer]:
    """Ask whether a call may be made now. `ticket` is the place it was given, 0 at first. It has waited for
    so many seconds, and can wait for `patience` more; `answered` calls were answered while the account was
    free, and not told yet.
    """
    argv = (ticket, waited, patience, answered, ms(TTL_SECONDS))
    return Call("account_admit", (names.account(account_id),), argv, _answer)


def told(account_id: str, what: Told, *, retry_after: float | None = None, answered: int = 0) -> Call[bool]:
    """Tell what became of a call, after `answered` others. Says whether the account is free from now on."""
    argv = (what.value, "" if retry_after is None else retry_after, answered, ms(TTL_SECONDS))
    return Call("account_told", (names.account(account_id),), argv, bool)


def look(account_id: str) -> Call[Standing]:
    """Read how an account stands; one that nothing is known of is free."""
    return Call("account_look", (names.account(account_id),), (), _standing)


def reset(account_id: str) -> Call[bool]:
    """Forget all that is known of an account: its limit, failures and block. Says whether anything was."""
    return Call("unlink", (names.account(account_id),), (), bool)


def _answer(reply: Sequence[Any]) -> Answer:
    verdict, seconds, ticket, block = reply
    return Answer(Verdict(text(verdict)), float(seconds), int(ticket), _reason(block))


def _standing(reply: Sequence[Any]) -> Standing:
    rate, waiting, paused, failures, block, seconds = reply
    return Standing(
        rate=float(rate) if rate else None,
        waiting=int(waiting),
        paused=float(paused),
        failures=int(failures),
        block=_reason(block),
        block_seconds=float(seconds),
    )


def _reason(block: bytes) -> BlockReason | None:
    return BlockReason(text(block)) if block else None
