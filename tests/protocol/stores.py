"""The store of a test's hosts and workers: the pure model, or the model and the real Lua side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, ParamSpec, Protocol, TypeVar

from ebbtide_core.names import CONTRACT_MAJOR, Owner
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.script import Scripts, hash_tag
from tests.protocol import observed, observed_fleet
from tests.protocol.clock import Clock
from tests.protocol.model_fleet import FleetModel
from tests.protocol.model_index import Index
from tests.protocol.model_session import SessionModel, State
from tests.store import clock as server_clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from ebbtide_core.store.client import SyncStore
    from ebbtide_core.store.script import Call
    from tests.store.clock import Database

P = ParamSpec("P")
R = TypeVar("R")

FLEET: Final = "fleet"
TEST: Final = "test"
"""Hash tags: of the fleet's keys, and of what belongs to the test itself."""

_ONLY_DECLARED_KEYS: Final = """
local server, declared = redis, {}
for _, key in ipairs(KEYS) do declared[key] = true end
local redis = setmetatable({call = function(command, key, ...)
  if not declared[key] then error(command .. ' of an undeclared key: ' .. tostring(key)) end
  return server.call(command, key, ...)
end}, {__index = server})
"""
PRELUDE: Final = f"{server_clock.LUA}\n{_ONLY_DECLARED_KEYS}"
SCRIPTS: Final = Scripts(clock=PRELUDE)
"""The real scripts at the injected time; one that touches a key it was not given fails (law 12)."""


class Disagreement(AssertionError):
    """The real store answered, or left behind, something else than the model."""


class Runs(Protocol):
    """What runs the protocol's calls.

    `run` takes a function of the `*_calls` modules with its arguments, so that hosts and workers are
    written and typed against the real calls only.
    """

    def run(self, call: Callable[P, Call[R]], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run one script."""

    def pass_time(self, seconds: float) -> None:
        """Move the server's clock, back if negative."""


class Store(Runs, Protocol):
    """What faults may do to the data, and what is left of it."""

    @property
    def now(self) -> float:
        """The server's time, in seconds."""

    def state(self, owner: Owner) -> State | None:
        """Return a copy of a session's state."""

    def index(self) -> Index:
        """Return a copy of the fleet's index."""

    def lose_state(self, owner: Owner) -> None:
        """Lose a session's hash and records."""

    def lose_records(self, owner: Owner) -> None:
        """Lose a session's records only."""

    def lose_index(self) -> None:
        """Lose the fleet's keys."""

    def snapshot(self) -> None:
        """Keep a copy of all data, in place of the last one."""

    def roll_back(self, owner: Owner, *, session: bool, index: bool) -> None:
        """Bring the copy of a session's keys, or of the fleet's, back; nothing without a copy."""


@dataclass(slots=True)
class ModelStore:
    """The pure model of all sessions and the fleet."""

    clock: Clock = field(default_factory=Clock)
    session_model: type[SessionModel] = SessionModel
    fleet_model: type[FleetModel] = FleetModel
    sessions: dict[Owner, SessionModel] = field(default_factory=dict)
    fleet: FleetModel = field(init=False)
    kept: tuple[dict[Owner, SessionModel], Index] | None = None

    def __post_init__(self) -> None:
        self.fleet = self.fleet_model(self.clock)

    @property
    def now(self) -> float:
        """The server's time, in seconds."""
        return self.clock.now

    def session(self, owner: Owner) -> SessionModel:
        """Return the owner's session, without state at first."""
        if owner not in self.sessions:
            self.sessions[owner] = self.session_model(self.clock)
        return self.sessions[owner]

    def run(self, call: Callable[P, Call[R]], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run one script's rules."""
        if call.__module__ == fleet_calls.__name__:
            result: R = getattr(self.fleet, call.__name__)(*args, **kwargs)
            return result
        owner, *given = args
        assert isinstance(owner, Owner)
        result = getattr(self.session(owner), call.__name__)(*given, **kwargs)
        return result

    def state(self, owner: Owner) -> State | None:
        """Return a copy of a session's state."""
        state = self.session(owner).state
        return state.copy() if state else None

    def index(self) -> Index:
        """Return a copy of the index."""
        return self.fleet.index.copy()

    def pass_time(self, seconds: float) -> None:
        """Move the clock."""
        self.clock.now += seconds

    def lose_state(self, owner: Owner) -> None:
        """Lose a session's state and records."""
        self.sessions.pop(owner, None)

    def lose_records(self, owner: Owner) -> None:
        """Lose a session's records."""
        self.session(owner).records.clear()

    def lose_index(self) -> None:
        """Lose the index."""
        self.fleet.index = Index()

    def snapshot(self) -> None:
        """Keep a copy of everything."""
        self.kept = self._copied(self.sessions), self.fleet.index.copy()

    def roll_back(self, owner: Owner, *, session: bool, index: bool) -> None:
        """Bring the copy of the session, or of the index, back."""
        if self.kept is None:
            return
        sessions, kept_index = self.kept
        if session:
            self.sessions.pop(owner, None)
            self.sessions.update(self._copied({o: s for o, s in sessions.items() if o == owner}))
        if index:
            self.fleet.index = kept_index.copy()

    def _copied(self, sessions: dict[Owner, SessionModel]) -> dict[Owner, SessionModel]:
        return {owner: session.copy() for owner, session in sessions.items()}


class RealStore:
    """The real store alone, for long runs."""

    def __init__(self, real: SyncStore, database: Database) -> None:
        self.real = real
        self.clock = server_clock.Clock(database)

    def run(self, call: Callable[P, Call[R]], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run one script."""
        return self.real.run(call(*args, **kwargs))

    def pass_time(self, seconds: float) -> None:
        """Move the clock."""
        self.clock.advance(seconds)


class PairedStore:
    """The real store with the model beside it: each call is run on both and must come to the same."""

    def __init__(self, real: SyncStore, database: Database, model: ModelStore | None = None) -> None:
        self.real = real
        self.database = database
        self.clock = server_clock.Clock(database)
        self.model = model or ModelStore()
        self.model.clock.now = self.clock.now_ms / 1000
        self.dumped: dict[bytes, tuple[int, bytes]] | None = None

    @property
    def now(self) -> float:
        """The server's time, in seconds."""
        return self.model.now

    def run(self, call: Callable[P, Call[R]], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run one script on both; what it answers and what it leaves behind must agree."""
        expected = self.model.run(call, *args, **kwargs)
        got = self.real.run(call(*args, **kwargs))
        left, wanted = self._left_by(call.__module__, *args)
        if (got, left) != (expected, wanted):
            told = f"{call.__name__}{args}{kwargs}"
            raise Disagreement(f"{told}:\n{got}, leaves {left}\nthe model: {expected}, leaves {wanted}")
        return got

    def _left_by(self, module: str, owner: object = None, *_: object) -> tuple[object, object]:
        """Return what a script left behind in the real store and in the model."""
        if module == fleet_calls.__name__:
            return observed_fleet.fleet_index(self.database), self.model.fleet.index
        assert isinstance(owner, Owner)
        return self.state(owner), self.model.session(owner).state

    def state(self, owner: Owner) -> State | None:
        """Return a session's state as it is stored."""
        return observed.session_state(self.database.hgetall(owner.state))

    def index(self) -> Index:
        """Return the fleet's index; both have the same."""
        return self.model.index()

    def pass_time(self, seconds: float) -> None:
        """Move the clock of both."""
        self.model.pass_time(seconds)
        self.clock.advance(seconds)

    def lose_state(self, owner: Owner) -> None:
        """Lose a session's hash and records."""
        self.model.lose_state(owner)
        self._delete(hash_tag(owner.state))

    def lose_records(self, owner: Owner) -> None:
        """Lose a session's records."""
        self.model.lose_records(owner)
        self._delete(hash_tag(owner.state), "rec:*")

    def lose_index(self) -> None:
        """Lose the fleet's keys."""
        self.model.lose_index()
        self._delete(FLEET)

    def snapshot(self) -> None:
        """Keep a dump of all keys."""
        self.model.snapshot()
        self.dumped = {key: (self.database.pttl(key), self.database.dump(key)) for key in self._keys("*")}

    def roll_back(self, owner: Owner, *, session: bool, index: bool) -> None:
        """Restore the dump of the session's keys, or of the fleet's."""
        self.model.roll_back(owner, session=session, index=index)
        if session:
            self._restore(hash_tag(owner.state))
        if index:
            self._restore(FLEET)

    def lifetimes(self) -> dict[str, int]:
        """Return each key and its TTL in milliseconds (-1: none)."""
        return {key.decode(): self.database.pttl(key) for key in self._keys("*")}

    def _restore(self, tag: str) -> None:
        if self.dumped is None:
            return
        self._delete(tag)
        for key, (lifetime, value) in self.dumped.items():
            if hash_tag(key.decode()) == tag:
                self.database.restore(key, lifetime, value)

    def _delete(self, tag: str, rest: str = "*") -> None:
        for key in self._keys(f"ebbtide:{CONTRACT_MAJOR}:{{{tag}}}:{rest}"):
            self.database.delete(key)

    def _keys(self, rest: str) -> list[bytes]:
        keys: list[bytes] = self.database.keys(rest)
        return [key for key in keys if f"{{{TEST}}}" not in key.decode()]
