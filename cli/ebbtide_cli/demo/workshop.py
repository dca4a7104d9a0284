"""What the tools of the demo's session answer: source files, search hits, test runs. Seeded, so always the
same."""

from __future__ import annotations

from random import Random
from typing import Final

_NOUNS: Final = (
    "order",
    "row",
    "parcel",
    "price",
    "slot",
    "batch",
    "reservation",
    "supplier",
    "pallet",
    "invoice",
)
_VERBS: Final = (
    "collect",
    "merge",
    "check",
    "split",
    "load",
    "settle",
    "index",
    "release",
    "round",
    "assign",
)
_FIELDS: Final = ("sku", "quantity", "warehouse", "currency", "due_on", "supplier_id", "weight_g", "status")

_SHAPES: Final = (
    '''def {verb}_{noun}s(rows: list[Row], *, limit: int = {n}) -> list[Row]:
    """Return the {noun}s that are still open, at most `limit` of them, oldest {field} first."""
    found = [row for row in rows if row["{field}"] is not None and row["{other}"] != "closed"]
    found.sort(key=lambda row: (row["{field}"], row["{other}"]))
    if len(found) > limit:
        log.warning("more than %d {noun}s are open, %d left for the next run", limit, len(found) - limit)
    return found[:limit]
''',
    '''def {verb}_{noun}(session: Session, key: str) -> {cls} | None:
    """Return one {noun} by its {field}; None when another run has taken it in the meantime."""
    stmt = select({cls}).where({cls}.{field} == key).with_for_update(skip_locked=True)
    row = session.scalars(stmt).one_or_none()
    if row is None or row.{other} == "{noun}-{n}":
        return None
    row.touched_at = utcnow()
    session.flush()
    return row
''',
    '''class {cls}{n}Error(ValueError):
    """A {noun} can't be used: `{field}` says which one, `{other}` what was found instead."""

    def __init__(self, {field}: str, {other}: str) -> None:
        self.{field} = {field}
        self.{other} = {other}
        super().__init__(f"{noun} {{{field}}}: {other} is {{{other}}}, {n} expected")
''',
    '''def {verb}_totals_{n}(rows: Iterable[Row]) -> dict[str, Decimal]:
    """Sum the {noun}s by {field}; rows without a {other} count as zero and are logged."""
    totals: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        if not row.get("{other}"):
            log.info("{noun} %s has no {other}", row.get("{field}"))
            continue
        totals[row["{field}"]] += Decimal(row["{other}"]).quantize(Decimal("0.0001"))
    return dict(totals)
''',
)


class Workshop:
    """The files and commands of an invented repository."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311  a story, no secret
        self._tests = 212

    def source(self, module: str, functions: int) -> str:
        """Return a Python module with so many functions, each line numbered as tools show files."""
        head = f'"""{module}: part of the stock service."""\n\nfrom __future__ import annotations\n'
        parts = [head, "\n".join(f"import {name}" for name in ("csv", "logging", "re")) + "\n"]
        parts += [self._function() for _ in range(functions)]
        lines = "\n\n".join(parts).splitlines()
        return "\n".join(f"{number:>5}\t{line}" for number, line in enumerate(lines, 1))

    def _function(self) -> str:
        noun = self._random.choice(_NOUNS)
        field, other = self._random.sample(_FIELDS, 2)
        return self._random.choice(_SHAPES).format(
            verb=self._random.choice(_VERBS),
            noun=noun,
            cls=noun.capitalize(),
            field=field,
            other=other,
            n=self._random.randrange(10, 900),
        )

    def hits(self, word: str, modules: tuple[str, ...], times: int) -> str:
        """Return what a search prints."""
        found = []
        for _ in range(times):
            module, line = self._random.choice(modules), self._random.randrange(12, 340)
            verb, noun = self._random.choice(_VERBS), self._random.choice(_NOUNS)
            found.append(f"{module}:{line}:    {verb}_{noun}s(rows, {word}={self._random.randrange(2, 90)})")
        return "\n".join(found)

    def failing(self, test: str, error: str, where: str, shown: int) -> str:
        """Return a test run with one failure, and so many lines of its captured log."""
        log = "\n".join(
            f"INFO     stock.{self._random.choice(_NOUNS)}:{self._random.randrange(10, 300)} "
            f"{self._random.choice(_VERBS)} {self._random.choice(_NOUNS)} "
            f"{self._random.randrange(10_000, 99_999)} "
            f"took {self._random.randrange(1, 900)} ms"
            for _ in range(shown)
        )
        return (
            f"{'=' * 24} FAILURES {'=' * 24}\n{'_' * 20} {test} {'_' * 20}\n\n{where}: in {test}\nE   "
            f"{error}\n"
            f"{'-' * 20} Captured log call {'-' * 20}\n{log}\n"
            f"FAILED {where.partition(':')[0]}::{test} - {error}\n1 failed, {self._tests - 1} passed in "
            "9.41s\n"
        )

    def passing(self, added: int = 0) -> str:
        """Return a test run without failures, after so many tests were added."""
        self._tests += added
        return f"{'.' * 72}\n{'.' * 72}\n{self._tests} passed in {self._random.randrange(800, 990) / 100} s\n"
