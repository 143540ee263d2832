"""A session that is kept alive, moved when its node does not answer, and in which locks are acquired."""

import asyncio
import logging
import math
import os
import threading
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Dict, List, Mapping, Optional, Set

from .background import clock
from .errors import (
    Lost,
    NotAcquired,
    Refused,
    SessionOver,
    SkeptronError,
    Unavailable,
    Unreachable,
    UpgradeDenied,
)
from .http import give_up, within
from .rules import EXCLUSIVE, Ask, Entry, Mode, Standing, Wish, is_over_there

if TYPE_CHECKING:
    from .client import Client

log = logging.getLogger("skeptron")

#: How long a node may take to end a session.
ENDED_WITHIN = 3.0
#: The first wait before a node that cannot be reached is asked again, then twice as long, up to the last.
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 1.0
#: How long after the end of a wait a node may take to say why nothing was granted, at least.
TOLD_WITHIN = 3.0

#: With these codes a node says that a session does not hold a lock.
_LOST = ("not-held", "other-fence", "lost", "session-over")

#: An answer that lacks something is as good as none.
_NO_ANSWER = (Unreachable, KeyError, TypeError, ValueError)


class Grant:
    """A lock that a session holds. Its methods may be called from any thread."""

    def __init__(
        self,
        session: "Session",
        entry: Entry,
        mode: Mode,
        on_lost: Optional[Callable[["Grant"], Any]],
    ) -> None:
        self.session = session
        self.entry = entry
        self.mode = mode
        self.is_released = False
        #: Taken by whoever changes its mode.
        self.turn = threading.Lock()
        #: Those who must release it, each once: several if it was acquired again by its owner.
        self.levels: Set[object] = set()
        #: An upgrade that is not answered yet.
        self.upgrading: Optional["_Asking"] = None
        self._on_lost = on_lost
        self.pid = os.getpid()

    def loss(self) -> Optional[Lost]:
        """Why it is not certainly held any more; none while it is."""
        standing, why = self.session.standing, None
        if self.is_released:
            why = "it was released"
        elif os.getpid() != self.pid:
            why = "it belongs to the process that forked this one"
        elif self.entry in standing.lost:
            why = "the node has lost it"
        elif standing.over is not None:
            why = standing.over
        elif not standing.is_valid(clock()):
            why = "the session was not kept alive in time"
        return None if why is None else Lost(*self.entry, why)

    def valid_for(self) -> float:
        """For how long it stays valid even if no further sign of life gets through."""
        return 0.0 if self.loss() else self.session.standing.valid_for(clock())

    def note_lost(self) -> None:
        """Tells its holder, once."""
        callback, self._on_lost = self._on_lost, None
        if callback is not None and not self.is_released:
            callback(self)


class Session:
    """Lives in the background thread."""

    def __init__(self, client: "Client", standing: Standing) -> None:
        self.standing = standing
        self._client = client
        self._grants: Dict[Entry, Grant] = {}
        #: Requests to the node where the session is, given up when it leaves.
        self._asking: Set["asyncio.Task[Any]"] = set()
        self._chores: Set["asyncio.Task[Any]"] = set()
        self._seen = (False, 0, False)
        loop = asyncio.get_running_loop()
        self._changed: "asyncio.Future[None]" = loop.create_future()
        #: Somebody got no answer: the next sign of life is due.
        self._doubted = asyncio.Event()
        self._kept = loop.create_task(self._keep_alive())

    def is_valid(self) -> bool:
        return self.standing.is_valid(clock())

    # Keeping it alive.

    async def _keep_alive(self) -> None:
        """Gives a sign of life at every third of the TTL or quarter of what was promised, more often when
        one fails, until the session is over."""
        standing, pause = self.standing, self.standing.pace()
        while standing.over is None:
            pause = min(pause, standing.valid_for(clock()))
            try:
                await asyncio.wait_for(self._doubted.wait(), pause)
            except asyncio.TimeoutError:
                pass
            self._doubted.clear()
            if standing.over is not None:
                break
            try:
                pause = await within(standing.until - clock(), self._round(), "a sign of life")
            except Unreachable:
                pause = 0.0
            except Exception as error:  # Whoever waits must not wait for ever.
                log.exception("a session cannot go on")
                standing.over = f"the client failed: {error!r}"
            if standing.over is None and not self.is_valid():
                standing.over = "the session was not kept alive in time"
            self._note()
        log.info("session over: %s", standing.over)
        # The node may still think otherwise, or wait until the client must know.
        await self._farewell()

    async def _round(self) -> float:
        """Gives a sign of life, and moves if that is not answered. Returns when to do so again."""
        standing = self.standing
        # Where it was is asked also while it moves: if that node answers, the session stays.
        is_kept, is_taken = await asyncio.gather(self._sign(), self._move_again())
        is_to_stay = is_kept and not standing.home_closes
        if not is_to_stay and not is_taken and standing.over is None:
            is_taken = standing.can_move(self._client.endpoints()) and await self._move_on()
        return standing.pause() if is_kept or is_taken else standing.pace() / 10

    async def _sign(self) -> bool:
        standing, sent = self.standing, clock()
        ask, moved = standing.sign(), standing.moved
        if ask is None:
            return False
        try:
            answer = await self._client.ask(ask)
            behind = standing.kept(clock(), sent, moved, answer)
        except Refused as refused:
            standing.not_kept(moved, refused.status, refused.code)
            self._note()
            return False
        except _NO_ANSWER as error:
            log.info("no answer to a sign of life: %s", error)
            return False
        self._settle(behind)
        return behind is not None

    async def _move_again(self) -> bool:
        """Asks the node that has taken the session; whether it still does."""
        moving = self.standing.moving
        return moving is not None and await self._try_to_move(self.standing.move())

    async def _move_on(self) -> bool:
        """Tries the other endpoints in turn; whether one took the session."""
        standing, former = self.standing, self.standing.moving
        for to in standing.candidates(self._client.endpoints()):
            ask = standing.start_move(to)
            self._note()
            if await self._try_to_move(ask):
                return True
        standing.not_taken(former)
        self._note()
        return False

    async def _try_to_move(self, ask: Ask) -> bool:
        standing, sent = self.standing, clock()
        moving = standing.moving
        assert moving is not None and ask.body is not None
        try:
            answer = await self._client.ask(ask)
            behind = standing.taken(clock(), sent, moving.number, answer)
        except Refused as refused:
            moving.is_taken = False
            log.info("%s does not take the session: %s", ask.at, refused)
            return False
        except _NO_ANSWER as error:
            log.info("the session cannot move: %s", error)
            return False
        self._settle(behind)
        if behind is not None and standing.moving is None:
            log.info("session moved to %s", standing.at)
        return behind is not None

    def _settle(self, behind: Optional[List[Ask]]) -> None:
        for ask in behind or ():
            self._in_background(self._client.ask(ask))
        self._note()

    def _note(self) -> None:
        """Tells whoever waits for a change."""
        standing = self.standing
        seen = (standing.moving is not None, standing.moved, standing.over is not None)
        if seen != self._seen:
            self._seen = seen
            for task in self._asking:
                task.cancel()
            changed, self._changed = self._changed, asyncio.get_running_loop().create_future()
            changed.set_result(None)
        for entry, grant in list(self._grants.items()):
            if standing.over is not None or entry in standing.lost:
                del self._grants[entry]
                grant.note_lost()

    def _in_background(self, work: Awaitable[Any]) -> None:
        """Goes on with something that nobody waits for."""

        async def quietly() -> None:
            try:
                await work
            except SkeptronError as error:
                log.debug("%s", error)

        task = asyncio.ensure_future(quietly())
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)

    # What is asked in it.

    async def _settled(self) -> int:
        """Waits while the session moves. The number of the move that brought it where it is."""
        while self.standing.over is None and self.is_valid():
            if self.standing.moving is None:
                return self.standing.moved
            await asyncio.wait({self._changed})
        raise SessionOver(f"the session has ended: {self.standing.over or 'it was not kept alive in time'}")

    async def _ask_here(
        self, path: str, body: Mapping[str, Any], pause: float
    ) -> Optional[Dict[str, Any]]:
        """Asks the node where the session is. None if it moves meanwhile, or the same may be asked again."""
        standing, moved = self.standing, self.standing.moved
        coroutine = self._client.caller(standing.at).ask("POST", path, dict(body, session=standing.id))
        task = asyncio.ensure_future(coroutine)
        self._asking.add(task)
        try:
            # Not `await task`: that it is cancelled when the session moves must not look like a cancellation
            # of whoever asks.
            await asyncio.wait({task})
        except asyncio.CancelledError:
            give_up(task)
            raise
        finally:
            self._asking.discard(task)
        if task.cancelled():
            return None
        error = task.exception()
        if error is None:
            return task.result()
        status = error.status if isinstance(error, Refused) else None
        code = error.code if isinstance(error, Refused) else ""
        if not isinstance(error, (Refused, Unreachable)):
            raise error
        if isinstance(error, Refused):
            self._client.learn(error.answer, is_all=False)
            standing.not_granted(moved, error.code)
        if not is_over_there(standing.can_move(self._client.endpoints()), status, code):
            raise error
        self._doubted.set()
        await asyncio.wait({self._changed}, timeout=pause)
        return None

    async def acquire(
        self, wish: Wish, wait: Optional[float], on_lost: Optional[Callable[[Grant], Any]] = None
    ) -> Grant:
        """Acquires the lock. Whoever cancels does not learn the answer, so the node is told to undo it."""
        asking = _Asking(self, wish)
        try:
            entry = await asking.answer(wait)
        except (asyncio.CancelledError, Unreachable) as error:
            self._in_background(self._give_back(*asking.withdrawn()))
            if isinstance(error, Unreachable):
                # It was not heard in time.
                raise NotAcquired(wish.lock) from None
            raise
        except Refused as refused:
            if refused.code == "not-acquired":
                raise NotAcquired(wish.lock, _holder(refused)) from None
            if refused.status == 410:
                self.standing.over = self.standing.over or refused.error
                self._doubted.set()
                self._note()
                raise SessionOver(str(refused)) from None
            raise
        grant = Grant(self, entry, wish.mode, on_lost)
        self._grants[entry] = grant
        return grant

    async def upgrade(self, grant: Grant, wait: Optional[float]) -> Grant:
        """Makes it exclusive, with another fence. It is held as before if that is refused; whoever cancels,
        or gets no answer, does not know how it is held, so it is released."""
        self._check(grant)
        if grant.mode == EXCLUSIVE:
            return grant
        lock, fence = grant.entry
        grant.upgrading = asking = _Asking(self, Wish(lock, upgrade=fence))
        try:
            entry = await asking.answer(wait)
        except (asyncio.CancelledError, Unreachable) as error:
            # Somebody else may have released it meanwhile.
            self._check(grant)
            self.discard(grant)
            if isinstance(error, Unreachable):
                raise Lost(lock, fence, "its upgrade was not answered, so it was released") from None
            raise
        except SessionOver as over:
            raise Lost(lock, fence, str(over)) from None
        except Refused as refused:
            if refused.code == "not-acquired":
                raise NotAcquired(lock, _holder(refused), "upgraded") from None
            if refused.code == "upgrade-denied":
                raise UpgradeDenied(lock) from None
            if refused.code in _LOST:
                raise self._lost(grant, refused) from None
            raise
        finally:
            grant.upgrading = None
        self._check(grant)
        self._grants.pop(grant.entry, None)
        grant.entry, grant.mode = entry, EXCLUSIVE
        self._grants[entry] = grant
        return grant

    async def downgrade(self, grant: Grant, mode: Mode) -> None:
        """Holds it beside others from now on, with the same fence. Raises `Lost` if the lock is lost."""
        self._check(grant)
        lock, fence = grant.entry
        if mode == grant.mode:
            return
        if mode == EXCLUSIVE or grant.mode != EXCLUSIVE:
            raise ValueError(f"`{lock}` is held as {grant.mode}, and cannot be downgraded to {mode}")
        if self.standing.leads(grant.entry):
            raise ValueError(f"`{lock}` was campaigned for, and a leader is alone")
        # First: if the session moves before the node's answer, others may have come in already.
        grant.mode = mode
        self.standing.shares(grant.entry, mode)
        await self._tell_of(grant, "/v1/downgrade", {"lock": lock, "fence": str(fence), "mode": mode})

    async def release(self, grant: Grant) -> None:
        """Releases, and waits until the node has taken note. Raises `Lost` if it was lost before."""
        if grant.is_released:
            return
        loss = grant.loss()
        lock, fence = grant.entry
        bodies = self._forget(grant)
        if loss is not None:
            raise loss
        try:
            await self._give_back(*bodies)
        except SessionOver as over:
            # It was valid when it was given up; and it is free when the session is over.
            log.warning("the release of `%s` was not confirmed: %s", lock, over)
        except Refused as refused:
            if refused.status in (409, 410):
                raise Lost(lock, fence, refused.error) from None
            raise

    def discard(self, grant: Grant) -> None:
        """Nobody wants the lock that was granted."""
        if not grant.is_released:
            self._in_background(self._give_back(*self._forget(grant)))

    def _forget(self, grant: Grant) -> List[Dict[str, Any]]:
        """The session does not hold it any more. Returns what the node is to give back."""
        grant.is_released = True
        self._grants.pop(grant.entry, None)
        self.standing.let_go(grant.entry)
        lock, fence = grant.entry
        # First what comes of its upgrade, which may have replaced the entry.
        undone = grant.upgrading.withdrawn() if grant.upgrading is not None else []
        return [*undone, {"lock": lock, "fence": str(fence)}]

    @staticmethod
    def _check(grant: Grant) -> None:
        loss = grant.loss()
        if loss is not None:
            raise loss

    async def proclaim(self, grant: Grant, value: str) -> None:
        """Leads with another value from now on. Raises `Lost` if the lock is lost."""
        self._check(grant)
        version = self.standing.proclaims(grant.entry, value)
        lock, fence = grant.entry
        if version is None:
            raise ValueError(f"`{lock}` was locked, and not campaigned for")
        body = {"name": lock, "term": str(fence), "value": value, "version": version}
        await self._tell_of(grant, "/v1/proclaim", body)

    async def _tell_of(self, grant: Grant, path: str, body: Mapping[str, Any]) -> None:
        """Tells the node something about what is held. Raises `Lost` if it is not."""
        try:
            await self._tell(path, body)
        except SessionOver as over:
            raise Lost(*grant.entry, str(over)) from None
        except Refused as refused:
            if refused.code in _LOST:
                raise self._lost(grant, refused) from None
            raise

    def _lost(self, grant: Grant, refused: Refused) -> Lost:
        """The node says that it is not held."""
        self.standing.note_lost([grant.entry])
        self._note()
        return Lost(*grant.entry, refused.error)

    async def _give_back(self, *bodies: Mapping[str, Any]) -> None:
        """Tells the node to release. That nothing is held is no trouble: an earlier try came through, and
        only its answer did not; or an upgrade had replaced the entry."""
        for body in bodies:
            try:
                await self._tell("/v1/release", body)
            except Refused as refused:
                if refused.code != "not-held" and (refused.code != "other-fence" or len(bodies) == 1):
                    raise

    async def _tell(self, path: str, body: Mapping[str, Any]) -> Dict[str, Any]:
        """Tells the node something, again and again until it answers."""
        pause = FIRST_PAUSE
        while True:
            await self._settled()
            answer = await self._ask_here(path, body, pause)
            if answer is not None:
                return answer
            pause = min(pause * 2, LONGEST_PAUSE)

    # Its end.

    async def close(self) -> None:
        """Ends it: what it holds is released."""
        if self.standing.over is None:
            self.standing.over = "the client was closed"
            self._grants.clear()  # Whoever closes need not be told.
            self._note()
            self._kept.cancel()
            self._kept = asyncio.ensure_future(self._farewell())
        await asyncio.wait({self._kept})

    async def _farewell(self) -> None:
        standing, path = self.standing, f"/v1/sessions/{self.standing.id}"
        places = [standing.at] + ([standing.moving.to] if standing.moving else [])
        asks = [self._client.ask(Ask(at, "DELETE", path, None, ENDED_WITHIN)) for at in places]
        for told in await asyncio.gather(*asks, return_exceptions=True):
            if isinstance(told, Exception):
                # If it does not get through, the session ends by itself.
                log.debug("the end of a session was not confirmed: %s", told)


def _holder(refused: Refused) -> Optional[Mapping[str, Any]]:
    """Who is in the way, if the node says so."""
    holder: Optional[Mapping[str, Any]] = (refused.answer.get("why") or {}).get("holder")
    return holder


class _Asking:
    """An acquire that is not answered yet."""

    def __init__(self, session: Session, wish: Wish) -> None:
        self._session = session
        self._wish = wish
        #: The number of the acquire, once it has been sent: another one at each node.
        self._request = 0
        self._moved: Optional[int] = None
        self._entry: Optional[Entry] = None
        self._task: Optional["asyncio.Task[Entry]"] = None

    async def answer(self, wait: Optional[float]) -> Entry:
        """What was granted. Raises `Unreachable` if an answer is long overdue."""
        self._task = asyncio.ensure_future(self._until(None if wait is None else clock() + wait))
        try:
            if wait is None:
                return await self._task
            late = wait + max(self._session.standing.ttl / 3, TOLD_WITHIN)
            entry: Entry = await within(late, self._task, f"acquiring `{self._wish.lock}`")
        except Refused as refused:
            if refused.code == "unavailable":
                raise Unavailable(f"{refused.error}; {refused.remedy}") from None
            raise
        return entry

    async def _until(self, deadline: Optional[float]) -> Entry:
        """Asks until there is an answer. A connection may break at any time, and the session may move; the
        number of the request makes it the same acquire."""
        session, standing, pause = self._session, self._session.standing, FIRST_PAUSE
        path, body = self._wish.question()
        while True:
            moved = await session._settled()
            if moved != self._moved:
                self._request, self._moved = standing.next_request(), moved
            # Rounded up, so that a short wait is not none at all.
            left = None if deadline is None else math.ceil(max(0.0, deadline - clock()) * 1000)
            try:
                answer = await session._ask_here(
                    path, {**body, "wait_ms": left, "request": self._request}, pause
                )
            except Refused as refused:
                # Without a time limit the node made one up.
                if deadline is None and refused.code == "not-acquired":
                    continue
                # It was granted and lost before that was heard: another number makes it another acquire.
                if refused.code == "withdrawn" and "upgrade" not in body:
                    self._moved = None
                    continue
                raise
            if answer is not None:
                entry = self._wish.entry(answer)
                if standing.granted(clock(), entry, self._request, moved, self._wish):
                    self._entry = entry
                    return entry
                continue
            pause = min(pause * 2, LONGEST_PAUSE)

    def withdrawn(self) -> List[Dict[str, Any]]:
        """Asks no longer. What the node is to undo, however far it got."""
        if self._task is not None:
            self._task.cancel()
        if self._entry is not None:
            self._session.standing.let_go(self._entry)
        if self._moved is None or not self._session.is_valid():
            return []
        return [{"lock": self._wish.lock, "request": self._request}]
