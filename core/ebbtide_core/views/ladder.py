"""The degrade ladder: the mildest view that fits, or the smallest there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ebbtide_core.budget.boundary import Cut
from ebbtide_core.views.bare import bare
from ebbtide_core.views.clip import clipped
from ebbtide_core.views.ground import Ground
from ebbtide_core.views.local import extractive
from ebbtide_core.views.truncate import truncated
from ebbtide_core.views.view import View


@dataclass(frozen=True, slots=True)
class Degraded:
    """The chosen view (None when none is smaller than the buffer), and whether what goes out fits the
    window."""

    view: View | None
    fits: bool


def degrade(ground: Ground, cut: Cut | None) -> Degraded:
    """Return the first view of the ladder below hard, else the smallest, which fits if it is within the
    window."""
    smallest: View | None = None
    size = sum(ground.tokens)
    for view in _rungs(ground, cut):
        if view.tokens <= ground.room:
            return Degraded(view, fits=True)
        if view.tokens < size:
            smallest, size = view, view.tokens
    return Degraded(smallest, fits=size + ground.outside <= ground.limits.window)


def _rungs(ground: Ground, cut: Cut | None) -> Iterator[View]:
    makers: tuple[Callable[[], View | None], ...] = (
        lambda: extractive(ground, cut),
        lambda: truncated(ground),
        lambda: clipped(ground),
        lambda: bare(ground),
    )
    for make in makers:
        view = make()
        if view is not None:
            yield view
