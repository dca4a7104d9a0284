"""Draws a scene: a line for each session, the last events, the totals; within any terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from ebbtide_cli.live.bar import ASCII, BLOCKS, Glyphs, bar, scale, tide
from ebbtide_cli.live.board import LOG, Scene, Totals
from ebbtide_cli.live.columns import GAP, MARGIN, Columns, columns
from ebbtide_cli.live.event import STYLES, Event, Kind
from ebbtide_cli.live.lane import Lane, activity
from ebbtide_cli.live.level import ZONE_STYLES
from ebbtide_cli.replay.view import shown

_LOG_FROM: Final = 12
"""From so many rows on, the log keeps at least `_LOG_LEAST` of them, whatever sessions run."""

_LOG_LEAST: Final = 4
_TIDE: Final = 3
"""So many lines tell how large a session was turn by turn, when it is the only one."""

_LOG_NAME: Final = 16
_BRIEF_BELOW: Final = 90
"""On narrower terminals a line of the log gives the turn's number only, so that a swap's sizes fit."""

_HEADS: Final = {
    "name": "session",
    "tokens": "tokens",
    "share": "",
    "turn": "turn",
    "version": "",
    "activity": "now",
}
_RIGHT: Final = frozenset({"tokens", "share", "turn", "version"})


class Frame:
    """A scene as Rich draws it: never wider than the console, never higher than it but for one line."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it at the console's present size."""
        glyphs = ASCII if options.ascii_only else BLOCKS
        for row in rows(self._scene, options.max_width, console.height - 1, glyphs):
            row.no_wrap = True
            row.truncate(options.max_width, overflow="ellipsis")
            yield row


def rows(scene: Scene, width: int, height: int, glyphs: Glyphs = BLOCKS) -> list[Text]:
    """Return the lines of a scene, at most `height` of them, or one."""
    totals = _totals(scene, width)
    room = height - len(totals)
    if room < 1:
        return totals[: max(1, height)]
    lanes = _lanes(scene, width, room - (_LOG_LEAST + 1 if room >= _LOG_FROM else 0), glyphs)
    if glyphs is BLOCKS and room - len(lanes) > _TIDE + _LOG_LEAST + 2:
        lanes += _tide(scene, columns(scene, width))
    log = _log(scene, width, room - len(lanes) - 2)
    between = [Text()] if log else []
    return [*lanes, *between, *log, *between, *totals]


def _lanes(scene: Scene, width: int, room: int, glyphs: Glyphs) -> list[Text]:
    active = [lane for lane in scene.lanes if lane is not None]
    wide = columns(scene, width)
    if len(scene.lanes) < room:
        return [_head(scene, wide, glyphs), *(_line(lane, wide, scene.now, glyphs) for lane in scene.lanes)]
    if room < 3:
        return [_line(lane, wide, scene.now, glyphs) for lane in active[: max(1, room)]]
    fit = active[: room - 2] if len(active) > room - 1 else active
    lines = [_head(scene, wide, glyphs), *(_line(lane, wide, scene.now, glyphs) for lane in fit)]
    if len(fit) < len(active):
        lines.append(Text(f"{'':{MARGIN}}and {len(active) - len(fit)} more", "dim"))
    return lines


def _head(scene: Scene, wide: Columns, glyphs: Glyphs) -> Text:
    cells = {name: Text(_HEADS[name], "dim") for name in wide.parts}
    return _joined(cells, scale(scene.empty, wide.bar, glyphs), wide)


def _line(lane: Lane | None, wide: Columns, now: float, glyphs: Glyphs) -> Text:
    if lane is None:
        return Text()
    kind, words = activity(lane, now)
    colour = ZONE_STYLES[lane.level.zone]
    parts = {
        "name": Text(_ending(shown(lane.session), wide.parts.get("name", 0)), "bold"),
        "tokens": Text(f"{lane.level.projected:,}"),
        "share": Text(f"{lane.level.share:.0%}", colour),
        "turn": Text(f"{lane.turn}/{lane.turns}"),
        "version": Text(f"v{lane.version}" if lane.version else "", "cyan"),
        "activity": Text(words, STYLES[kind]),
    }
    return _joined(parts, bar(lane.level, wide.bar, glyphs, _shed_style(lane)), wide)


def _tide(scene: Scene, wide: Columns) -> list[Text]:
    """Return lines that tell how large the only session was turn by turn; none where there are several."""
    if scene.totals.all_sessions != 1 or not scene.lanes:
        return []
    (lane,) = scene.lanes
    empty = {name: Text() for name in wide.parts}
    named = empty | {"name": Text("by turn", "dim")}
    drawn = tide(lane.past if lane else (), wide.bar, _TIDE)
    return [Text(), *(_joined(empty, line, wide) for line in drawn[:-1]), _joined(named, drawn[-1], wide)]


def _shed_style(lane: Lane) -> str:
    if lane.last in (Kind.DEGRADED, Kind.UNFITTABLE):
        return "red"
    return "green" if lane.swap_turn == lane.turn else "dim"


def _joined(parts: dict[str, Text], middle: Text, wide: Columns) -> Text:
    """Put the parts that are shown side by side, the bar after the name."""
    line = Text(" " * MARGIN)
    for name, width in wide.parts.items():
        if name == "name":
            line.append_text(_fitted(parts[name], width)).append(" " * GAP)
    line.append_text(_fitted(middle, wide.bar))
    for name, width in wide.parts.items():
        if name != "name":
            line.append(" " * GAP).append_text(_fitted(parts[name], width, right=name in _RIGHT))
    return line


def _ending(name: str, width: int) -> str:
    """Return the end of a name that is too wide: what differs between names of one file comes last."""
    if cell_len(name) <= width:
        return name
    while name and cell_len(name) > width - 1:
        name = name[1:]
    return f"…{name}"


def _fitted(text: Text, width: int, *, right: bool = False) -> Text:
    fitted = text.copy()
    if right:
        fitted.pad_left(max(0, width - fitted.cell_len))
    fitted.truncate(width, overflow="ellipsis", pad=True)
    return fitted


def _log(scene: Scene, width: int, room: int) -> list[Text]:
    """Return a line for each of the last events, and empty ones where more will come."""
    if room < 1:
        return []
    size = min(LOG, room)
    named = scene.totals.all_sessions > 1
    lines = [_told(event, named=named, brief=width < _BRIEF_BELOW) for event in scene.events[-size:]]
    return lines + [Text()] * (size - len(lines))


def _told(event: Event, *, named: bool, brief: bool) -> Text:
    line = Text(" " * MARGIN)
    if named:
        name = _ending(shown(event.session), _LOG_NAME)
        line.append_text(_fitted(Text(name, "bold"), _LOG_NAME)).append(" " * GAP)
    line.append(f"{event.turn:>3}" if brief else f"turn {event.turn:>3}", "dim").append(" " * MARGIN)
    line.append(f"{event.kind.value:>10}", STYLES[event.kind]).append(" " * GAP)
    return line.append(shown(event.text))


def _totals(scene: Scene, width: int) -> list[Text]:
    """Return the sums, in as many lines as they need."""
    lines = [Text(" " * MARGIN)]
    for item in _sums(scene.totals, scene.elapsed):
        apart = len(lines[-1]) > MARGIN
        if apart and lines[-1].cell_len + 3 + item.cell_len > width:
            lines.append(Text(" " * MARGIN))
            apart = False
        lines[-1].append(" · " if apart else "", "dim").append_text(item)
    return lines


def _sums(t: Totals, elapsed: float) -> Iterator[Text]:
    yield Text(f"{t.ended:,}/{_plural(t.all_sessions, 'session')}")
    yield Text(f"{t.turns:,}/{t.all_turns:,} turns")
    counted: Iterable[tuple[int, str, Kind]] = (
        (t.jobs, _plural(t.jobs, "job"), Kind.JOB),
        (t.versions, _plural(t.versions, "version"), Kind.VERSION),
        (t.swaps, _plural(t.swaps, "swap"), Kind.SWAP),
        (t.degraded, f"{t.degraded:,} degraded", Kind.DEGRADED),
    )
    for number, words, kind in counted:
        yield Text(words, STYLES[kind] if number else "none")
    yield Text(f"stall p99 {t.stall_p99:,.1f} ms")
    yield Text(f"{int(elapsed) // 60}:{int(elapsed) % 60:02}")


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
