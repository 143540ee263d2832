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
import logging
import os
import socket
import sys
import threading
import weakref
from types import TracebackType
from typing import Any, Callable, Dict, Iterable, NamedTuple, Optional, Set, Type, Union

from _skeptron.background import Call
from _skeptron.client import Client, Config, checked_ttl
from _skeptron.errors import (
    Lost,
    NotAcquired,
    Refused,
    SessionOver,
    SkeptronError,
    Unavailable,
    Unreachable,
)
from _skeptron.listing import Holder, Listing, LockInfo
from _skeptron.observation import Observation
from _skeptron.rules import Leader, Leadership
from _skeptron.session import Grant

__all__ = [
    "Skeptron",
    "AsyncSkeptron",
    "Lock",
    "AsyncLock",
    "Hold",
    "AsyncHold",
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
    "Unavailable",
    "SessionOver",
    "Lost",
]
__version__ = "0.1.0"

# So that a traceback says `skeptron.Lost`.
for _thing in (SkeptronError, Unreachable, Refused, NotAcquired, Unavailable, SessionOver, Lost):
    _thing.__module__ = __name__

_log = logging.getLogger("skeptron")

# What a context manager is told at its end.
_Kind = Optional[Type[BaseException]]
_Error = Optional[BaseException]
_Trace = Optional[TracebackType]


class _BaseHold:
    """A lock that was acquired. Its methods may be called from any thread."""

    def __init__(self, client: Optional["_BaseSkeptron"], grant: Grant) -> None:
        # A hold keeps the client's session open.
        self._client = client
        self._grant = grant

    @property
    def name(self) -> str:
        """The lock's name."""
        return self._grant.entry[0]

    @property
    def fence(self) -> int:
        """The fencing token: larger than that of every earlier holder of this lock.

        Send it along to whatever the lock protects, and let that refuse anything with a smaller one.
        """
        return self._grant.entry[1]

    def is_valid(self) -> bool:
        """Whether the lock is certainly held now, by this machine's clock."""
        return self._grant.loss() is None

    def valid_for(self) -> float:
        """For how many seconds it stays valid even if no further sign of life gets through. 0 if it is lost."""
        return self._grant.valid_for()

    def check(self) -> None:
        """Raises `Lost` if the lock is not certainly held any more. Call it before each step that counts."""
        loss = self._grant.loss()
        if loss is not None:
            raise loss

    def _proclaiming(self, value: str) -> "Call[None]":
        grant = self._grant
        self.check()
        return Call(lambda: grant.session.proclaim(grant, value))

    def _releasing(self) -> "Optional[Call[None]]":
        grant = self._grant
        if grant.is_released:
            return None
        if grant.pid != os.getpid():
            self.check()
        releasing = Call(lambda: grant.session.release(grant))
        releasing.future.add_done_callback(lambda _: setattr(self, "_client", None))
        return releasing

    @staticmethod
    def _unless(error: _Error, trouble: SkeptronError) -> None:
        """Raises the trouble at the end of a body, unless the body raised something itself."""
        if error is None:
            raise trouble
        _log.warning("%s", trouble)

    def __repr__(self) -> str:
        state = "valid" if self.is_valid() else "not valid"
        return f"<{type(self).__name__} {self.name!r} fence={self.fence} {state}>"


class Hold(_BaseHold):
    """A lock that is held. As a context manager it is released at the end.

    It is held until it is released, its client is closed or the process ends; not only as long as somebody
    has this object.
    """

    def release(self) -> None:
        """Releases the lock, and waits until the node has taken note. Does nothing the second time.

        Raises `Lost` if it was lost before.
        """
        releasing = self._releasing()
        if releasing is not None:
            # Whoever is interrupted here does not wait for the node's word, but the lock is released.
            releasing.future.result()

    def proclaim(self, value: str) -> None:
        """Shows observers another value, of a hold of `campaign`; returns when the node has taken note.

        Raises `Lost` if the lock is lost.
        """
        self._proclaiming(value).result()

    def resign(self) -> None:
        """Leads no longer. The same as `release`."""
        self.release()

    def __enter__(self) -> "Hold":
        return self

    def __exit__(self, kind: _Kind, error: _Error, trace: _Trace) -> None:
        try:
            self.release()
        except SkeptronError as trouble:
            self._unless(error, trouble)


class AsyncHold(_BaseHold):
    """A lock that is held. As an asynchronous context manager it is released at the end.

    It is held until it is released, its client is closed or the process ends; not only as long as somebody
    has this object.
    """

    async def release(self) -> None:
        """Releases the lock, and waits until the node has taken note. Does nothing the second time.

        Raises `Lost` if it was lost before.
        """
        releasing = self._releasing()
        if releasing is not None:
            # Whoever is cancelled here does not wait for the node's word, but the lock is released.
            await asyncio.shield(asyncio.wrap_future(releasing.future))

    async def proclaim(self, value: str) -> None:
        """Shows observers another value, of a hold of `campaign`; returns when the node has taken note.

        Raises `Lost` if the lock is lost.
        """
        await self._proclaiming(value).wait()

    async def resign(self) -> None:
        """Leads no longer. The same as `release`."""
        await self.release()

    async def __aenter__(self) -> "AsyncHold":
        return self

    async def __aexit__(self, kind: _Kind, error: _Error, trace: _Trace) -> None:
        try:
            await self.release()
        except SkeptronError as trouble:
            self._unless(error, trouble)


class _BaseLock:
    """A lock as it is to be acquired, and who has acquired it by `with`."""

    def __init__(self, client: "_BaseSkeptron", name: str, terms: "_Terms") -> None:
        self._client = client
        self._terms = terms
        self._holds: Dict[Any, Any] = {}
        self.name = name

    def _enter(self, who: Any) -> None:
        if who in self._holds:
            raise RuntimeError(f"`{self.name}` is held here already, and locks are not re-entrant")


class Lock(_BaseLock):
    """A lock that can be acquired, any number of times: by `with`, or by `acquire`. Made by `Skeptron.lock`."""

    def acquire(self) -> Hold:
        """Waits for the lock. Raises `NotAcquired` if it is not granted in the time given."""
        return Hold(self._client, self._client._acquire(self.name, self._terms).result())

    def __enter__(self) -> Hold:
        who = threading.get_ident()
        self._enter(who)
        self._holds[who] = self.acquire()
        hold: Hold = self._holds[who]
        return hold

    def __exit__(self, kind: _Kind, error: _Error, trace: _Trace) -> None:
        self._holds.pop(threading.get_ident()).__exit__(kind, error, trace)


class AsyncLock(_BaseLock):
    """A lock that can be acquired, any number of times: by `async with`, or by `acquire`. Made by
    `AsyncSkeptron.lock`."""

    async def acquire(self) -> AsyncHold:
        """Waits for the lock. Raises `NotAcquired` if it is not granted in the time given."""
        return AsyncHold(self._client, await self._client._acquire(self.name, self._terms).wait())

    async def __aenter__(self) -> AsyncHold:
        who = asyncio.current_task()
        self._enter(who)
        self._holds[who] = await self.acquire()
        hold: AsyncHold = self._holds[who]
        return hold

    async def __aexit__(self, kind: _Kind, error: _Error, trace: _Trace) -> None:
        await self._holds.pop(asyncio.current_task()).__aexit__(kind, error, trace)


class _Terms(NamedTuple):
    """How a lock is acquired."""

    wait: Optional[float]
    ttl: Optional[float]
    on_lost: Optional[Callable[[Grant], Any]]
    #: With which to lead, if so.
    value: Optional[str]


class _BaseObserver:
    def __init__(self, client: "_BaseSkeptron", name: str) -> None:
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


class _BaseSkeptron:
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

    def _acquire(self, name: str, terms: _Terms) -> "Call[Grant]":
        inner = self._current()
        return Call(lambda: inner.acquire(name, *terms), inner.discard)

    @staticmethod
    def _terms(
        wait: Optional[float], ttl: Optional[float], on_lost: Any, value: Optional[str] = None
    ) -> _Terms:
        if wait is not None and not wait >= 0:
            raise ValueError(f"`wait` is None or a number of seconds, not {wait!r}")
        return _Terms(wait, None if ttl is None else checked_ttl(ttl), on_lost, value)

    def _locks(self, prefix: str) -> "Call[Listing]":
        inner = self._current()
        return Call(lambda: inner.locks(prefix))

    def _leader(self, name: str) -> "Call[Optional[Leader]]":
        inner = self._current()
        return Call(lambda: inner.leader(name))

    def __repr__(self) -> str:
        endpoints = ", ".join(str(endpoint) for endpoint in self._config.endpoints)
        return f"<{type(self).__name__} {endpoints}>"


class Skeptron(_BaseSkeptron):
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

    def lock(
        self,
        name: str,
        wait: Optional[float] = None,
        ttl: Optional[float] = None,
        on_lost: Optional[Callable[[Hold], Any]] = None,
    ) -> Lock:
        """A lock for `with`, or for `acquire`; nothing happens before.

        wait -- how many seconds to wait before `NotAcquired` is raised; None is for ever.
        ttl -- another TTL than the client's.
        on_lost -- called with the hold, in a thread of its own, as soon as the lock is known to be lost.
        """
        return Lock(self, name, self._terms(wait, ttl, self._telling(on_lost)))

    def campaign(
        self,
        name: str,
        value: str = "",
        wait: Optional[float] = None,
        ttl: Optional[float] = None,
        on_lost: Optional[Callable[[Hold], Any]] = None,
    ) -> Lock:
        """An election to win, for `with`, or for `acquire`: a leader is whoever holds the lock of that name.

        value -- what observers are shown, as the leader's address; `hold.proclaim` changes it.
        wait, ttl, on_lost -- as of `lock`.

        The fence of the hold is the leader's term.
        """
        return Lock(self, name, self._terms(wait, ttl, self._telling(on_lost), value))

    @staticmethod
    def _telling(on_lost: Optional[Callable[[Hold], Any]]) -> Optional[Callable[[Grant], None]]:
        if on_lost is None:
            return None

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

    def try_lock(
        self, name: str, ttl: Optional[float] = None, on_lost: Optional[Callable[[Hold], Any]] = None
    ) -> Optional[Hold]:
        """Acquires the lock if nobody holds it; otherwise None."""
        try:
            return self.lock(name, 0, ttl, on_lost).acquire()
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

    def __exit__(self, kind: _Kind, error: _Error, trace: _Trace) -> None:
        self.close()


class AsyncSkeptron(_BaseSkeptron):
    """A client for asyncio; the arguments are those of `Skeptron`.

    The work is done by a thread in the background, so that sessions are kept alive while the event loop
    is busy. Every call may be cancelled; a lock that was on its way is then released.
    """

    def lock(
        self,
        name: str,
        wait: Optional[float] = None,
        ttl: Optional[float] = None,
        on_lost: Optional[Callable[[AsyncHold], Any]] = None,
    ) -> AsyncLock:
        """A lock for `async with`, or for `acquire`; nothing happens before.

        wait -- how many seconds to wait before `NotAcquired` is raised; None is for ever.
        ttl -- another TTL than the client's.
        on_lost -- a function or coroutine function, called with the hold in the event loop that called
            this method, as soon as the lock is known to be lost.
        """
        return AsyncLock(self, name, self._terms(wait, ttl, self._telling(on_lost)))

    def campaign(
        self,
        name: str,
        value: str = "",
        wait: Optional[float] = None,
        ttl: Optional[float] = None,
        on_lost: Optional[Callable[[AsyncHold], Any]] = None,
    ) -> AsyncLock:
        """An election to win, for `async with`, or for `acquire`: a leader is whoever holds the lock of that
        name.

        value -- what observers are shown, as the leader's address; `hold.proclaim` changes it.
        wait, ttl, on_lost -- as of `lock`.

        The fence of the hold is the leader's term.
        """
        return AsyncLock(self, name, self._terms(wait, ttl, self._telling(on_lost), value))

    @staticmethod
    def _telling(on_lost: Optional[Callable[[AsyncHold], Any]]) -> Optional[Callable[[Grant], None]]:
        if on_lost is None:
            return None
        callback, loop = on_lost, asyncio.get_running_loop()

        def lost(grant: Grant) -> None:
            try:
                loop.call_soon_threadsafe(_tell, callback, AsyncHold(None, grant))
            except RuntimeError:
                pass  # The event loop is closed: nobody is left.

        return lost

    async def leader(self, name: str) -> Optional[Leader]:
        """Who leads, at whichever node; None if nobody does."""
        return await self._leader(name).wait()

    def observe(self, name: str) -> AsyncObserver:
        """Iterates over the leaders, without end: the present one (or that there is none), then every change."""
        return AsyncObserver(self, name)

    async def try_lock(
        self, name: str, ttl: Optional[float] = None, on_lost: Optional[Callable[[AsyncHold], Any]] = None
    ) -> Optional[AsyncHold]:
        """Acquires the lock if nobody holds it; otherwise None."""
        try:
            return await self.lock(name, 0, ttl, on_lost).acquire()
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

    async def __aexit__(self, kind: _Kind, error: _Error, trace: _Trace) -> None:
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
