"""Locks and elections among machines: the Python client of Skeptron.

    from skeptron import Skeptron

    with Skeptron("http://127.0.0.1:7470").lock("deploy", ttl=10) as hold:
        print("fence", hold.fence)
        hold.check()        # raises Lost if the lock is not certainly held any more

`Skeptron` is for threads, `AsyncSkeptron` for asyncio. Both keep a session alive in the background and move
it to another endpoint when its node dies, leaves or does not answer. Standard library only.
"""

import asyncio
import concurrent.futures
import os
import socket
import sys
import threading
import weakref
from typing import Any, Callable, Generic, Iterable, Optional, Set, Type, TypeVar, Union

from _skeptron.background import Call
from _skeptron.client import Client, Config, Terms, checked_ttl
from _skeptron.errors import (
    Lost,
    NotAcquired,
    Refused,
    SessionOver,
    SkeptronError,
    Unavailable,
    Unreachable,
    UpgradeDenied,
)
from _skeptron.holds import AsyncHold, AsyncHolds, Error, Hold, Holds, Kind, Trace, checked_wait
from _skeptron.listing import Holder, Listing, LockInfo
from _skeptron.locks import AsyncLock, Lock, Tasks, Threads
from _skeptron.observation import Observation
from _skeptron.rules import EXCLUSIVE, Leader, Leadership, Wish, checked_mode
from _skeptron.session import Grant

__all__ = [
    "Skeptron",
    "AsyncSkeptron",
    "Lock",
    "AsyncLock",
    "Hold",
    "AsyncHold",
    "Holds",
    "AsyncHolds",
    "LockInfo",
    "Holder",
    "Listing",
    "Leader",
    "Leadership",
    "Observer",
    "AsyncObserver",
    "SkeptronError",
    "Unreachable",
    "Refused",
    "NotAcquired",
    "UpgradeDenied",
    "Unavailable",
    "SessionOver",
    "Lost",
]
__version__ = "0.1.0"

# So that a traceback says `skeptron.Lost`.
for _thing in (
    SkeptronError, Unreachable, Refused, NotAcquired, UpgradeDenied, Unavailable, SessionOver, Lost
):
    _thing.__module__ = __name__

#: A hold; and what is acquired, by name or all together.
H = TypeVar("H")
One = TypeVar("One")
All = TypeVar("All")


class _BaseObserver:
    def __init__(self, client: "_BaseSkeptron[Any, Any, Any]", name: str) -> None:
        inner = client._current()
        self._client = client
        # Begun before anybody waits, so that nothing is missed.
        self._begun = Call(lambda: inner.observe(name)).future
        self._finalize = weakref.finalize(self, _stop, self._begun)
        self._finalize.atexit = False

    def _next(self) -> "Call[Leadership]":
        # It has a result by then: the background thread works in order.
        begun = self._begun
        return Call(lambda: begun.result().next(), lambda unseen: begun.result().put_back(unseen))

    def close(self) -> None:
        """Stops observing. So does dropping it."""
        self._finalize()


def _stop(begun: "concurrent.futures.Future[Observation]") -> None:
    async def stop() -> None:
        begun.result().stop()

    if not begun.cancelled():
        Call(stop)


class Observer(_BaseObserver):
    """Iterates over who leads an election: each is a `Leadership`. Made by `Skeptron.observe`."""

    def __iter__(self) -> "Observer":
        return self

    def __next__(self) -> Leadership:
        return self._next().result()


class AsyncObserver(_BaseObserver):
    """Iterates asynchronously over who leads an election: each is a `Leadership`. Made by
    `AsyncSkeptron.observe`."""

    def __aiter__(self) -> "AsyncObserver":
        return self

    async def __anext__(self) -> Leadership:
        return await self._next().wait()


class _BaseSkeptron(Generic[H, One, All]):
    #: What a front has of its own: locks, holds of one and of several, and who owns what is re-entrant.
    _lock: Type[Any]
    _hold: Type[Any]
    _holds: Type[Any]
    _owners: Type[Any]

    def __init__(
        self,
        endpoints: Union[str, Iterable[str], None] = None,
        *,
        token: Optional[str] = None,
        ca: Optional[str] = None,
        cert: Optional[str] = None,
        key: Optional[str] = None,
        owner: Optional[str] = None,
        ttl: float = 10,
        discovery: bool = True,
    ) -> None:
        owner = _usual_owner() if owner is None else owner
        self._config = Config(endpoints, token, ca, cert, key, owner, ttl, discovery)
        self._inner = self._new()
        self._here = self._owners()

    def _new(self) -> Client:
        inner = Client(self._config)
        # The session ends with the last reference to the client and its holds.
        weakref.finalize(self, inner.shut_down).atexit = False
        return inner

    def _current(self) -> Client:
        """What does the work; another one in a child of a fork."""
        if self._inner.pid != os.getpid():
            self._inner = self._new()
        return self._inner

    def lock(
        self,
        name: str,
        wait: Optional[float] = None,
        ttl: Optional[float] = None,
        on_lost: Optional[Callable[[H], Any]] = None,
        mode: str = EXCLUSIVE,
        reentrant: bool = False,
    ) -> One:
        """A lock for `with` (of an `AsyncSkeptron`: `async with`), or for `acquire`; nothing happens before.

        wait -- how many seconds to wait before `NotAcquired` is raised; None is for ever.
        ttl -- another TTL than the client's.
        on_lost -- called with the hold as soon as the lock is known to be lost, in a thread of its own. Of an
            `AsyncSkeptron` a function or coroutine function, called in the event loop that called this method.
        mode -- how many may hold the lock together while this one does: `exclusive` (only this one), `shared`
            (any number) or `permits:K` (K, with this one: a semaphore).
        reentrant -- whether a thread (of an `AsyncSkeptron`: a task) that holds the lock by this client object
            and acquires it again, with `reentrant` both times, gets the same lock with the same fence at once.
            It is released with the last of these holds.
        """
        wish, terms = Wish(name, checked_mode(mode)), self._terms(wait, ttl, on_lost)
        return self._one(wish, terms, self._here if reentrant else None)

    def lock_all(
        self,
        names: Iterable[str],
        wait: Optional[float] = None,
        ttl: Optional[float] = None,
        on_lost: Optional[Callable[[H], Any]] = None,
        mode: str = EXCLUSIVE,
    ) -> All:
        """Several locks for `with`, or for `acquire`: all or none. They are acquired in the order of their
        names, so that two who do so never wait for each other.

        wait -- for all of them together.
        ttl, on_lost, mode -- as of `lock`, for each.
        """
        # The order of code points is that of bytes, in which other clients acquire.
        names = [] if isinstance(names, str) else sorted(set(names))
        if not names:
            raise ValueError("`names` is a list of the names of locks, with at least one")
        wishes = tuple(Wish(name, checked_mode(mode)) for name in names)
        made = lambda grants: self._holds(self._hold(self, grant) for grant in grants)
        several: All = self._lock(self._current, wishes, self._terms(wait, ttl, on_lost), made)
        return several

    def campaign(
        self,
        name: str,
        value: str = "",
        wait: Optional[float] = None,
        ttl: Optional[float] = None,
        on_lost: Optional[Callable[[H], Any]] = None,
    ) -> One:
        """An election to win, for `with`, or for `acquire`: a leader is whoever holds the lock of that name.

        value -- what observers are shown, as the leader's address; `hold.proclaim` changes it.
        wait, ttl, on_lost -- as of `lock`.

        The fence of the hold is the leader's term.
        """
        return self._one(Wish(name, value=value), self._terms(wait, ttl, on_lost))

    def _one(self, wish: Wish, terms: Terms, here: Any = None) -> One:
        made = lambda grants: self._hold(self, grants[0])
        one: One = self._lock(self._current, (wish,), terms, made, here)
        return one

    def _terms(
        self, wait: Optional[float], ttl: Optional[float], on_lost: Optional[Callable[[H], Any]]
    ) -> Terms:
        telling = None if on_lost is None else self._telling(on_lost)
        return Terms(checked_wait(wait), None if ttl is None else checked_ttl(ttl), telling)

    def _telling(self, on_lost: Callable[[H], Any]) -> Callable[[Grant], None]:
        """Calls it where the program wants to be called."""
        raise NotImplementedError

    def _locks(self, prefix: str) -> "Call[Listing]":
        inner = self._current()
        return Call(lambda: inner.locks(prefix))

    def _leader(self, name: str) -> "Call[Optional[Leader]]":
        inner = self._current()
        return Call(lambda: inner.leader(name))

    def __repr__(self) -> str:
        endpoints = ", ".join(str(endpoint) for endpoint in self._config.endpoints)
        return f"<{type(self).__name__} {endpoints}>"


class Skeptron(_BaseSkeptron[Hold, Lock[Hold], Lock[Holds]]):
    """A client for programs with threads. All its methods may be called from any thread.

    endpoints -- `http://HOST:PORT`, `https://HOST:PORT` or `unix:PATH`, of one node or, better, of several:
        a list, or text separated by commas. Without it the environment's SKEPTRON_ENDPOINT, or
        http://127.0.0.1:7470.
    token -- the API's token; without it the environment's SKEPTRON_TOKEN.
    ca, cert, key -- files for https: the cluster's authority (ca.pem), and the client's certificate and key,
        which a token makes unnecessary.
    owner -- what the holder is called in listings.
    ttl -- how many seconds after the last sign of life the locks of a process that died are released.
        At least twice the cluster's lease (3 s unless configured), or a hold does not survive its node.
    discovery -- whether to use the addresses of further nodes that nodes tell. Never from https to http,
        and a token never goes unencrypted because a node said so.

    Nothing is connected before the first use. Locks acquired with the same TTL share a session; it ends
    when the client is closed, when nobody has the client or a hold any more, and when the process ends.
    """

    _lock, _hold, _holds, _owners = Lock, Hold, Holds, Threads

    def _telling(self, on_lost: Callable[[Hold], Any]) -> Callable[[Grant], None]:
        def lost(grant: Grant) -> None:
            hold = Hold(None, grant)
            threading.Thread(target=on_lost, args=(hold,), name="skeptron-lost", daemon=True).start()

        return lost

    def leader(self, name: str) -> Optional[Leader]:
        """Who leads, at whichever node; None if nobody does."""
        return self._leader(name).result()

    def observe(self, name: str) -> Observer:
        """Iterates over the leaders, without end: the present one (or that there is none), then every change."""
        return Observer(self, name)

    def try_lock(self, name: str, **terms: Any) -> Optional[Hold]:
        """Acquires the lock if that is possible at once; otherwise None. Takes what `lock` takes but `wait`."""
        try:
            return self.lock(name, wait=0, **terms).acquire()
        except NotAcquired:
            return None

    def locks(self, prefix: str = "") -> Listing:
        """The locks whose names begin with `prefix` that are held or waited for, in the whole cluster."""
        return self._locks(prefix).result()

    def close(self) -> None:
        """Ends the client's sessions: what is held is released. Does nothing the second time."""
        inner = self._current()
        Call(inner.close).result()

    def __enter__(self) -> "Skeptron":
        return self

    def __exit__(self, kind: Kind, error: Error, trace: Trace) -> None:
        self.close()


class AsyncSkeptron(_BaseSkeptron[AsyncHold, AsyncLock[AsyncHold], AsyncLock[AsyncHolds]]):
    """A client for asyncio; the arguments are those of `Skeptron`.

    The work is done by a thread in the background, so that sessions are kept alive while the event loop
    is busy. Every call may be cancelled; a lock that was on its way is then released.
    """

    _lock, _hold, _holds, _owners = AsyncLock, AsyncHold, AsyncHolds, Tasks

    def _telling(self, on_lost: Callable[[AsyncHold], Any]) -> Callable[[Grant], None]:
        loop = asyncio.get_running_loop()

        def lost(grant: Grant) -> None:
            try:
                loop.call_soon_threadsafe(_tell, on_lost, AsyncHold(None, grant))
            except RuntimeError:
                pass  # The event loop is closed: nobody is left.

        return lost

    async def leader(self, name: str) -> Optional[Leader]:
        """Who leads, at whichever node; None if nobody does."""
        return await self._leader(name).wait()

    def observe(self, name: str) -> AsyncObserver:
        """Iterates over the leaders, without end: the present one (or that there is none), then every change."""
        return AsyncObserver(self, name)

    async def try_lock(self, name: str, **terms: Any) -> Optional[AsyncHold]:
        """Acquires the lock if that is possible at once; otherwise None. Takes what `lock` takes but `wait`."""
        try:
            return await self.lock(name, wait=0, **terms).acquire()
        except NotAcquired:
            return None

    async def locks(self, prefix: str = "") -> Listing:
        """The locks whose names begin with `prefix` that are held or waited for, in the whole cluster."""
        return await self._locks(prefix).wait()

    async def close(self) -> None:
        """Ends the client's sessions: what is held is released. Does nothing the second time."""
        inner = self._current()
        await asyncio.shield(asyncio.wrap_future(Call(inner.close).future))

    async def __aenter__(self) -> "AsyncSkeptron":
        return self

    async def __aexit__(self, kind: Kind, error: Error, trace: Trace) -> None:
        await self.close()


def _tell(callback: Callable[[AsyncHold], Any], hold: AsyncHold) -> None:
    told = callback(hold)
    if asyncio.iscoroutine(told):
        task = asyncio.ensure_future(told)
        _telling.add(task)
        task.add_done_callback(_telling.discard)


#: An event loop does not keep its tasks by itself.
_telling: Set["asyncio.Task[Any]"] = set()


def _usual_owner() -> str:
    program = os.path.basename(sys.argv[0] if sys.argv else "") or "python"
    text = "".join(c for c in f"{program}@{socket.gethostname()}" if c.isprintable())
    return text.encode("utf-8", "replace")[:200].decode("utf-8", "ignore")
