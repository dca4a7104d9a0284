"""All faults, as data: what befalls whom, how often, for how long, and how it is undone."""

from __future__ import annotations

import signal
from functools import partial
from typing import TYPE_CHECKING, Final

from tests.standin import Behaviour, Kind, Rate, Settings

from chaos.fault import Fault, Group, Planned

if TYPE_CHECKING:
    from chaos.fleet import Fleet

HOURS: Final = 3_600.0
MOST_SHIFT: Final = 36 * HOURS
SLOWEST: Final = 0.12
"""Seconds that a delayed connection adds in each direction, at most."""

SHARE: Final = 0.8
"""Of the model's calls that a fault of the provider befalls."""

ACCOUNT: Final = frozenset(
    {
        Kind.USAGE_LIMIT,
        Kind.UNAUTHORIZED,
        Kind.BILLING,
        Kind.FORBIDDEN,
        Kind.NOT_FOUND,
        Kind.SPEND_LIMIT,
        Kind.CONTRACT_LIMIT,
    }
)
"""Kinds that block an account for minutes, unless somebody who has mended it lifts the block."""

RETRY_AFTER: Final = 2.0
"""Seconds that the provider asks clients to wait, where it does."""


def _end(fleet: Fleet, planned: Planned, *, how: signal.Signals) -> None:
    fleet.slots[planned.target].end(how)


def _want(fleet: Fleet, planned: Planned) -> None:
    fleet.slots[planned.target].want()


def _pause(fleet: Fleet, planned: Planned) -> None:
    fleet.slots[planned.target].pause()


def _resume(fleet: Fleet, planned: Planned) -> None:
    fleet.slots[planned.target].resume()


def _shift(fleet: Fleet, planned: Planned) -> None:
    """End a host; the next process finds its wall clock wrong by up to a day and a half, either way."""
    fleet.shifts[planned.target] = (2 * planned.amount - 1) * MOST_SHIFT
    fleet.slots[planned.target].end(signal.SIGTERM)


def _freeze(fleet: Fleet, planned: Planned) -> None:
    fleet.backend(planned.group).freeze()


def _thaw(fleet: Fleet, planned: Planned) -> None:
    fleet.backend(planned.group).thaw()


def _stop(fleet: Fleet, planned: Planned) -> None:
    fleet.backend(planned.group).stop()


def _kill(fleet: Fleet, planned: Planned) -> None:
    fleet.backend(planned.group).kill()


def _start(fleet: Fleet, planned: Planned) -> None:
    fleet.backend(planned.group).start()


def _start_empty(fleet: Fleet, planned: Planned) -> None:
    fleet.backend(planned.group).start_empty()


def _drop(fleet: Fleet, planned: Planned) -> None:
    fleet.backend(planned.group).proxy.drop()


def _nothing(_: Fleet, __: Planned) -> None:
    """What is over at once needs no undoing."""


def _delay(fleet: Fleet, planned: Planned) -> None:
    fleet.backend(planned.group).proxy.delay(planned.amount * SLOWEST)


def _no_delay(fleet: Fleet, planned: Planned) -> None:
    fleet.backend(planned.group).proxy.delay(0.0)


def _hold(fleet: Fleet, planned: Planned) -> None:
    fleet.backend(planned.group).proxy.hold()


def _flow(fleet: Fleet, planned: Planned) -> None:
    fleet.backend(planned.group).proxy.flow()


def _refuse(fleet: Fleet, planned: Planned) -> None:
    fleet.backend(planned.group).proxy.refuse()


def _accept(fleet: Fleet, planned: Planned) -> None:
    fleet.backend(planned.group).proxy.accept()


def _of_server(group: Group) -> tuple[Fault, ...]:
    return (
        Fault(f"{group} restarted", group, 2, 0.5, 4.0, _stop, _start, away=True, restarts=True),
        Fault(f"{group} killed", group, 2, 1.0, 6.0, _kill, _start, away=True, restarts=True),
        Fault(f"{group} frozen", group, 3, 1.0, 8.0, _freeze, _thaw, away=True),
        Fault(
            f"{group} lost its data",
            group,
            2,
            0.5,
            4.0,
            _kill,
            _start_empty,
            away=True,
            restarts=True,
            loses=True,
        ),
        Fault(f"{group} connections dropped", group, 2, 0.0, 0.0, _drop, _nothing),
        Fault(f"{group} delayed", group, 2, 2.0, 6.0, _delay, _no_delay),
        Fault(f"{group} black-holed", group, 2, 1.0, 6.0, _hold, _flow, away=True),
        Fault(f"{group} refuses", group, 1, 1.0, 4.0, _refuse, _accept, away=True),
    )


_TERM: Final = partial(_end, how=signal.SIGTERM)
_KILL: Final = partial(_end, how=signal.SIGKILL)


def _of_process(group: Group) -> tuple[Fault, ...]:
    return (
        Fault(f"{group} terminated", group, 4, 0.0, 2.0, _TERM, _want, kills=True),
        Fault(f"{group} killed", group, 5, 0.0, 3.0, _KILL, _want, kills=True),
        Fault(f"{group} stopped", group, 5, 0.5, 14.0, _pause, _resume, kills=True),
    )


def _told(kind: Kind, fleet: Fleet, planned: Planned) -> None:
    behaviour = Behaviour(
        kind=kind,
        text='{"half',
        retry_after=RETRY_AFTER if _asks_to_wait(kind) else None,
        seconds=planned.lasts,
    )
    fleet.standin.control.set(Settings(rates=(Rate(share=SHARE, behaviour=behaviour),)))


def _asks_to_wait(kind: Kind) -> bool:
    return kind in (Kind.RATE_LIMITED, Kind.RAMP_LIMIT)


def _well(kind: Kind, fleet: Fleet, _: Planned) -> None:
    fleet.standin.control.set(Settings(rates=()))
    if kind in ACCOUNT:
        fleet.mending.begin()


def _of_provider() -> tuple[Fault, ...]:
    return tuple(
        Fault(f"provider: {kind}", Group.PROVIDER, 1, 1.5, 5.0, partial(_told, kind), partial(_well, kind))
        for kind in Kind
        if kind is not Kind.GOOD
    )


FAULTS: Final = (
    *_of_process(Group.WORKER),
    *_of_process(Group.HOST),
    Fault("host clock shifted", Group.HOST, 2, 0.0, 1.0, _shift, _want, kills=True),
    *_of_server(Group.STORE),
    *_of_server(Group.BROKER),
    *_of_provider(),
)

BY_NAME: Final = {fault.name: fault for fault in FAULTS}
