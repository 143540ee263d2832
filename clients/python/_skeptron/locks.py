"""Locks as they are to be acquired, for programs with threads and for asyncio."""

import asyncio
import threading
import weakref
from typing import Any, Callable, Dict, Generic, List, Tuple, TypeVar, Union

from .background import Call
from .client import Client, Terms
from .holds import Error, Kind, Trace
from .rules import Wish, is_within
from .session import Grant

#: What is acquired: a hold, or several.
T = TypeVar("T")

#: What one thread or task holds of the locks that are re-entrant, by name.
Own = Dict[str, Grant]


class Threads(threading.local):
    """Whoever calls is a thread."""

    def __init__(self) -> None:
        self.own: Own = {}


class Tasks:
    """Whoever calls is a task."""

    def __init__(self) -> None:
        self._own: "weakref.WeakKeyDictionary[Any, Own]" = weakref.WeakKeyDictionary()

    @property
    def own(self) -> Own:
        return self._own.setdefault(asyncio.current_task(), {})


class BaseLock(Generic[T]):
    """A lock, or several, and who has acquired it by `with`."""

    def __init__(
        self,
        current: Callable[[], Client],
        wishes: Tuple[Wish, ...],
        terms: Terms,
        made: Callable[[List[Grant]], T],
        here: Union[Threads, Tasks, None] = None,
    ) -> None:
        self._current = current
        self._wishes = wishes
        self._terms = terms
        self._made = made
        #: Knows what whoever calls holds already; none if the lock is not re-entrant.
        self._here = here
        #: By who entered, each with the levels it entered.
        self._entered: Dict[Any, List[T]] = {}
        #: Its name; of several, all of them.
        self.name = ", ".join(wish.lock for wish in wishes)

    def _acquiring(self) -> "Call[List[Grant]]":
        inner, wishes, terms = self._current(), self._wishes, self._terms
        return Call(lambda: inner.acquire(wishes, terms), inner.discard)

    def _again(self) -> List[Grant]:
        """What whoever calls holds already."""
        if self._here is None:
            return []
        own = self._here.own
        for name in [name for name, grant in own.items() if grant.loss() is not None]:
            del own[name]
        grant = own.get(self.name)
        if grant is not None and not is_within(grant.mode, self._wishes[0].mode):
            raise RuntimeError(f"`{self.name}` is held here as {grant.mode}: upgrade that hold")
        return [] if grant is None else [grant]

    def _held(self, grants: List[Grant]) -> T:
        if self._here is not None:
            self._here.own[self.name] = grants[0]
        return self._made(grants)

    def _enter(self, who: Any) -> None:
        if self._here is None and who in self._entered:
            raise RuntimeError(f"`{self.name}` is held here already; use `lock(..., reentrant=True)`")

    def _entering(self, who: Any, held: T) -> T:
        self._entered.setdefault(who, []).append(held)
        return held

    def _leaving(self, who: Any) -> Any:
        left = self._entered[who].pop()
        if not self._entered[who]:
            del self._entered[who]
        return left


class Lock(BaseLock[T]):
    """What can be acquired, any number of times: by `with`, or by `acquire`. Made by `Skeptron.lock`,
    `Skeptron.lock_all` and `Skeptron.campaign`."""

    def acquire(self) -> T:
        """Waits for the lock. Raises `NotAcquired` if it is not granted in the time given."""
        return self._held(self._again() or self._acquiring().result())

    def __enter__(self) -> T:
        who = threading.get_ident()
        self._enter(who)
        return self._entering(who, self.acquire())

    def __exit__(self, kind: Kind, error: Error, trace: Trace) -> None:
        self._leaving(threading.get_ident()).__exit__(kind, error, trace)


class AsyncLock(BaseLock[T]):
    """What can be acquired, any number of times: by `async with`, or by `acquire`. Made by
    `AsyncSkeptron.lock`, `AsyncSkeptron.lock_all` and `AsyncSkeptron.campaign`."""

    async def acquire(self) -> T:
        """Waits for the lock. Raises `NotAcquired` if it is not granted in the time given."""
        return self._held(self._again() or await self._acquiring().wait())

    async def __aenter__(self) -> T:
        who = asyncio.current_task()
        self._enter(who)
        return self._entering(who, await self.acquire())

    async def __aexit__(self, kind: Kind, error: Error, trace: Trace) -> None:
        await self._leaving(asyncio.current_task()).__aexit__(kind, error, trace)
