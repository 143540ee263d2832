"""Locks that are held, for programs with threads and for asyncio."""

import asyncio
import contextlib
import logging
import os
from types import TracebackType
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Type, TypeVar

from .background import Call, run
from .errors import SkeptronError
from .rules import checked_mode
from .session import Grant

log = logging.getLogger("skeptron")

# What a context manager is told at its end.
Kind = Optional[Type[BaseException]]
Error = Optional[BaseException]
Trace = Optional[TracebackType]

H = TypeVar("H", bound="BaseHold")
R = TypeVar("R", bound="Released")
A = TypeVar("A", bound="AsyncReleased")


def checked_wait(wait: Optional[float]) -> Optional[float]:
    """A time to wait, in seconds; none is for ever."""
    if wait is not None and not wait >= 0:
        raise ValueError(f"`wait` is None or a number of seconds, not {wait!r}")
    return wait


def unless(error: Error, trouble: SkeptronError) -> None:
    """Raises the trouble at the end of a body, unless the body raised something itself."""
    if error is None:
        raise trouble
    log.warning("%s", trouble)


class Released:
    """Released at the end of a `with`."""

    def release(self) -> None:
        raise NotImplementedError

    def __enter__(self: R) -> R:
        return self

    def __exit__(self, kind: Kind, error: Error, trace: Trace) -> None:
        try:
            self.release()
        except SkeptronError as trouble:
            unless(error, trouble)


class AsyncReleased:
    """Released at the end of an `async with`."""

    async def release(self) -> None:
        raise NotImplementedError

    async def __aenter__(self: A) -> A:
        return self

    async def __aexit__(self, kind: Kind, error: Error, trace: Trace) -> None:
        try:
            await self.release()
        except SkeptronError as trouble:
            unless(error, trouble)


class BaseHold:
    """A lock that was acquired. Its methods may be called from any thread."""

    def __init__(self, client: Any, grant: Grant) -> None:
        # A hold keeps the client's session open, until it is released.
        self._client = client
        self._grant = grant
        #: None of a hold that only tells of a loss.
        self._level = None if client is None else object()
        if self._level is not None:
            grant.levels.add(self._level)

    @property
    def name(self) -> str:
        """The lock's name."""
        return self._grant.entry[0]

    @property
    def fence(self) -> int:
        """The fencing token: larger than that of every earlier holder of this lock. An upgrade changes it.

        Send it along to whatever the lock protects, and let that refuse anything with a smaller one.
        """
        return self._grant.entry[1]

    @property
    def mode(self) -> str:
        """How many others it tolerates: `exclusive`, `shared` or `permits:K`."""
        return self._grant.mode

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

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Grant]:
        """One change of the mode at a time."""
        self.check()
        if not self._grant.turn.acquire(blocking=False):
            raise RuntimeError(f"the mode of `{self.name}` is being changed already")
        try:
            yield self._grant
        finally:
            self._grant.turn.release()

    @contextlib.contextmanager
    def _upgrading(self, wait: Optional[float]) -> Iterator["Call[Grant]"]:
        """Whoever goes away meanwhile does not know how the lock is held: it is released."""
        checked_wait(wait)
        with self._changing() as grant:
            session = grant.session
            try:
                yield Call(lambda: session.upgrade(grant, wait), session.discard)
            except SkeptronError:
                raise
            except BaseException:
                run(lambda: session.discard(grant))
                raise

    @contextlib.contextmanager
    def _downgrading(self, mode: str) -> Iterator["Call[None]"]:
        mode = checked_mode(mode)
        with self._changing() as grant:
            yield Call(lambda: grant.session.downgrade(grant, mode))

    def _releasing(self) -> "Optional[Call[None]]":
        grant = self._grant
        if grant.is_released:
            return None
        if grant.pid != os.getpid():
            self.check()
        if self._level is not None:
            grant.levels.discard(self._level)
            if grant.levels:
                # Its owner still holds it, further out.
                self._client = None
                self.check()
                return None
        releasing = Call(lambda: grant.session.release(grant))
        releasing.future.add_done_callback(lambda _: setattr(self, "_client", None))
        return releasing

    def __repr__(self) -> str:
        state = "valid" if self.is_valid() else "not valid"
        return f"<{type(self).__name__} {self.name!r} {self.mode} fence={self.fence} {state}>"


class Hold(BaseHold, Released):
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

    def upgrade(self, wait: Optional[float] = None) -> None:
        """Waits until the lock is exclusive, without releasing it: until all other holders have left.
        It has a new fence then. Does nothing if it is exclusive already.

        wait -- how many seconds to wait before `NotAcquired` is raised; None is for ever.

        Raises `UpgradeDenied` if another holder upgrades first, which waits for this one. After both, the
        lock is held as before. Whoever is interrupted, or gets `Lost`, does not hold it any more.
        """
        with self._upgrading(wait) as upgrading:
            upgrading.result()

    def downgrade(self, mode: str = "shared") -> None:
        """Lets others in: an exclusive lock is held as `shared` or `permits:K` from now on, with the same
        fence. Returns when the node has taken note. Raises `Lost` if the lock is lost.
        """
        with self._downgrading(mode) as downgrading:
            downgrading.future.result()

    def proclaim(self, value: str) -> None:
        """Shows observers another value, of a hold of `campaign`; returns when the node has taken note.

        Raises `Lost` if the lock is lost.
        """
        self._proclaiming(value).result()

    def resign(self) -> None:
        """Leads no longer. The same as `release`."""
        self.release()


class AsyncHold(BaseHold, AsyncReleased):
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

    async def upgrade(self, wait: Optional[float] = None) -> None:
        """Waits until the lock is exclusive, without releasing it: until all other holders have left.
        It has a new fence then. Does nothing if it is exclusive already.

        wait -- how many seconds to wait before `NotAcquired` is raised; None is for ever.

        Raises `UpgradeDenied` if another holder upgrades first, which waits for this one. After both, the
        lock is held as before. Whoever is cancelled, or gets `Lost`, does not hold it any more.
        """
        with self._upgrading(wait) as upgrading:
            await upgrading.wait()

    async def downgrade(self, mode: str = "shared") -> None:
        """Lets others in: an exclusive lock is held as `shared` or `permits:K` from now on, with the same
        fence. Returns when the node has taken note. Raises `Lost` if the lock is lost.
        """
        with self._downgrading(mode) as downgrading:
            await asyncio.shield(asyncio.wrap_future(downgrading.future))

    async def proclaim(self, value: str) -> None:
        """Shows observers another value, of a hold of `campaign`; returns when the node has taken note.

        Raises `Lost` if the lock is lost.
        """
        await self._proclaiming(value).wait()

    async def resign(self) -> None:
        """Leads no longer. The same as `release`."""
        await self.release()


class BaseHolds(Mapping[str, H]):
    """Several locks that were acquired together: a mapping from names to holds, in the order of names."""

    def __init__(self, holds: Iterable[H]) -> None:
        self._holds: Dict[str, H] = {hold.name: hold for hold in holds}

    def __getitem__(self, name: str) -> H:
        return self._holds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._holds)

    def __len__(self) -> int:
        return len(self._holds)

    def fence(self, name: str) -> int:
        """The fencing token of the lock of that name."""
        return self[name].fence

    def is_valid(self) -> bool:
        """Whether all of them are certainly held now, by this machine's clock."""
        return all(hold.is_valid() for hold in self.values())

    def valid_for(self) -> float:
        """For how many seconds all stay valid even if no further sign of life gets through."""
        return min(hold.valid_for() for hold in self.values())

    def check(self) -> None:
        """Raises `Lost` if one of them is not certainly held any more."""
        for hold in self.values():
            hold.check()

    def _releasing(self) -> "List[Call[None]]":
        return list(filter(None, [hold._releasing() for hold in self.values()]))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {list(self.values())}>"


class Holds(BaseHolds[Hold], Released):
    """Several locks that are held together: `holds["a"]` is the hold of the lock `a`. As a context manager
    they are released at the end."""

    def release(self) -> None:
        """Releases all of them, and waits until the node has taken note. Raises `Lost` if one was lost before;
        the others are released all the same."""
        troubles = [releasing.future.exception() for releasing in self._releasing()]
        for trouble in filter(None, troubles):
            raise trouble


class AsyncHolds(BaseHolds[AsyncHold], AsyncReleased):
    """Several locks that are held together: `holds["a"]` is the hold of the lock `a`. As an asynchronous
    context manager they are released at the end."""

    async def release(self) -> None:
        """Releases all of them, and waits until the node has taken note. Raises `Lost` if one was lost before;
        the others are released all the same."""
        futures = [asyncio.wrap_future(releasing.future) for releasing in self._releasing()]
        troubles = await asyncio.shield(asyncio.gather(*futures, return_exceptions=True))
        for trouble in troubles:
            if trouble is not None:
                raise trouble
