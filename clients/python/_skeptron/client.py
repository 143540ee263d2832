"""What a client knows of its cluster: endpoints, and a session for each TTL that is used."""

import asyncio
import math
import os
import ssl
import time
import weakref
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Union
from urllib.parse import quote

from . import background
from .background import Call, clock
from .endpoints import Endpoint, is_admitted, parse, parse_all
from .errors import Refused, Unreachable
from .http import Caller, give_up, within
from .listing import Listing
from .observation import Observation
from .rules import Ask, Leader, Leadership, Standing, Wish
from .session import ENDED_WITHIN, Grant, Session

#: How long a node may take to answer what has no time limit of its own.
ANSWER_WITHIN = 10.0
#: After how long without an answer the next node is asked as well.
NEXT_AFTER = 0.5
#: For how long a node that did not answer is asked after the others.
SHUNNED_FOR = 30.0
#: Addresses that nodes have told, at most.
MOST_TOLD = 32
#: How long the end of the interpreter waits for nodes to take note.
EXIT_WITHIN = 2.0


class Answered(NamedTuple):
    """What a node has answered, and when it was asked."""

    at: Endpoint
    sent: float
    answer: Dict[str, Any]


class Terms(NamedTuple):
    """How to acquire."""

    wait: Optional[float]
    #: Of the session; none is the client's.
    ttl: Optional[float]
    on_lost: Optional[Callable[[Grant], Any]]


class Config:
    """How to reach the nodes, and as whom; read and checked."""

    def __init__(
        self,
        endpoints: Union[str, Iterable[str], None],
        token: Optional[str],
        ca: Optional[str],
        cert: Optional[str],
        key: Optional[str],
        owner: str,
        ttl: float,
        discovery: bool = True,
    ) -> None:
        if endpoints is None:
            endpoints = os.environ.get("SKEPTRON_ENDPOINT") or "http://127.0.0.1:7470"
        self.endpoints = parse_all(endpoints, bare="https" if ca is not None else "http")
        self.token = os.environ.get("SKEPTRON_TOKEN") if token is None else token
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise ValueError("the token contains characters that are not allowed in an HTTP header")
        self.tls: Optional[ssl.SSLContext] = None
        if any(endpoint.scheme == "https" for endpoint in self.endpoints):
            self.tls = ssl.create_default_context(cafile=ca)
            # Python 3.13 asks for an extension that certificates of older versions of `skeptron tls` lack.
            self.tls.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
            if cert is not None:
                self.tls.load_cert_chain(cert, key)
        elif ca is not None or cert is not None:
            raise ValueError("`ca` and `cert` are for endpoints that begin with https://")
        self.owner = owner
        self.ttl = checked_ttl(ttl)
        self.discovery = discovery


def checked_ttl(ttl: float) -> float:
    """A TTL in seconds that can be sent."""
    if not (isinstance(ttl, (int, float)) and 0 < ttl < math.inf):
        raise ValueError(f"the TTL is a number of seconds above zero, not {ttl!r}")
    return ttl


class Client:
    """Lives in the background thread; `shut_down` may be called from any."""

    def __init__(self, config: Config) -> None:
        self.pid = os.getpid()
        self._config = config
        #: Addresses that nodes have told.
        self._told: List[Endpoint] = []
        self._callers: Dict[Endpoint, Caller] = {}
        self._failed: Dict[Endpoint, float] = {}
        self._sessions: Dict[int, Session] = {}
        self._opening: Dict[int, asyncio.Lock] = {}
        #: Sessions that were opened in vain.
        self._ending: Set["asyncio.Task[Any]"] = set()
        self._observations: "weakref.WeakSet[Observation]" = weakref.WeakSet()
        self.is_closed = False

    # Asking nodes.

    def endpoints(self) -> List[Endpoint]:
        """Where nodes are: those that were given first."""
        return [*self._config.endpoints, *self._told]

    def caller(self, at: Endpoint) -> Caller:
        if at not in self._callers:
            self._callers[at] = Caller(at, self._config.token, self._config.tls)
        return self._callers[at]

    async def ask(self, ask: Ask) -> Dict[str, Any]:
        """The answer of the node at that endpoint, in time."""
        assert isinstance(ask.at, Endpoint)
        coroutine = self.caller(ask.at).ask(ask.method, ask.path, ask.body)
        try:
            answer: Dict[str, Any] = await within(ask.within, coroutine, str(ask.at))
        except Refused as refused:
            self.learn(refused.answer, is_all=False)
            raise
        self.learn(answer, is_all=True)
        return answer

    def learn(self, answer: Mapping[str, Any], is_all: bool) -> None:
        """A node may say where others are. If these are all, those of before may have gone."""
        config, named = self._config, answer.get("nodes")
        if not config.discovery or not isinstance(named, list) or not named:
            return
        told = [] if is_all else list(self._told)
        for text in named:
            try:
                endpoint = parse(text)
            except (ValueError, AttributeError):
                continue
            is_new = endpoint not in told and endpoint not in config.endpoints
            if is_new and is_admitted(endpoint, config.endpoints, config.token is not None):
                told.append(endpoint)
        self._told = told[:MOST_TOLD]
        for at in self._callers.keys() - set(self.endpoints()):
            self._callers.pop(at).close()

    def _order(self) -> List[Endpoint]:
        """The endpoints in the order to try them: as they were given, those that failed lately last."""
        recent = time.monotonic() - SHUNNED_FOR
        return sorted(self.endpoints(), key=lambda at: self._failed.get(at, recent) > recent)

    async def first(
        self,
        method: str,
        path: str,
        body: Optional[Dict[str, Any]] = None,
        discard: Callable[[Answered], Any] = lambda _: None,
    ) -> Answered:
        """What the first endpoint says that answers and can. They are asked in turn, the next one also when
        there is no answer for a while; answers that come too late are discarded."""
        troubles: List[str] = []
        tried: Set[Endpoint] = set()
        asked: Dict["asyncio.Task[Answered]", Endpoint] = {}
        try:
            while True:
                # One that cannot may have named others.
                at, *others = [*(at for at in self._order() if at not in tried), None]
                if at is not None:
                    tried.add(at)
                    ask = Ask(at, method, path, body, ANSWER_WITHIN)
                    asked[asyncio.ensure_future(self._answered(ask))] = at
                elif not asked:
                    raise Unreachable("no node can be used: " + "; ".join(troubles))
                patience = NEXT_AFTER if len(others) > 1 else None
                done, _ = await asyncio.wait(
                    asked, timeout=patience, return_when=asyncio.FIRST_COMPLETED
                )
                for task in [task for task in asked if task in done]:
                    at = asked[task]
                    try:
                        answered = task.result()
                    except Unreachable as trouble:
                        self._failed[at] = time.monotonic()
                        troubles.append(str(trouble))
                    except Refused as refused:
                        if refused.status != 503:
                            raise
                        troubles.append(f"{at}: {refused}")
                    else:
                        del asked[task]
                        self._failed.pop(at, None)
                        # The others are slower.
                        self._failed.update((late, time.monotonic()) for late in asked.values())
                        return answered
                    del asked[task]
        finally:
            for task in asked:
                give_up(task, discard)

    async def _answered(self, ask: Ask) -> Answered:
        sent, at = clock(), ask.at
        assert isinstance(at, Endpoint)
        answer = await self.ask(ask)
        if answer.get("valid_ms") == 0:
            raise Unreachable(f"{at}: the node has lost its lease")
        return Answered(at, sent, answer)

    # Sessions.

    async def session(self, ttl: Optional[float] = None) -> Session:
        """The session of that TTL; a new one if there is none, or it is over."""
        ttl_ms = round((self._config.ttl if ttl is None else ttl) * 1000)
        opening = self._opening.setdefault(ttl_ms, asyncio.Lock())
        async with opening:
            if self.is_closed:
                raise ValueError("the client was closed")
            session = self._sessions.get(ttl_ms)
            if session is None or not session.is_valid():
                body = {"ttl_ms": ttl_ms, "owner": self._config.owner}
                at, sent, opened = await self.first("POST", "/v1/sessions", body, self._end_unused)
                session = Session(self, Standing(opened, sent, at, self._config.owner))
                if self.is_closed:
                    await session.close()
                    raise ValueError("the client was closed")
                self._sessions[ttl_ms] = session
                background.last_words.add(self._last_words)
            return session

    def _end_unused(self, answered: Answered) -> None:
        """Another node was faster to open a session."""
        path = f"/v1/sessions/{answered.answer['session']}"
        ending = asyncio.ensure_future(self.ask(Ask(answered.at, "DELETE", path, None, ENDED_WITHIN)))
        self._ending.add(ending)

        def ended(task: "asyncio.Task[Any]") -> None:
            self._ending.discard(task)
            if not task.cancelled():
                # If it did not get through, the session ends by itself.
                task.exception()

        ending.add_done_callback(ended)

    async def acquire(self, wishes: Sequence[Wish], terms: Terms) -> List[Grant]:
        """Acquires all of them in this order, or none."""
        session = await self.session(terms.ttl)
        deadline = None if terms.wait is None else clock() + terms.wait
        grants: List[Grant] = []
        try:
            for wish in wishes:
                left = None if deadline is None else max(0.0, deadline - clock())
                grants.append(await session.acquire(wish, left, terms.on_lost))
            for loss in filter(None, (grant.loss() for grant in grants[:-1])):
                raise loss
        except BaseException:
            self.discard(grants)
            raise
        return grants

    @staticmethod
    def discard(grants: Iterable[Grant]) -> None:
        """Releases what nobody waits for any more."""
        for grant in grants:
            grant.session.discard(grant)

    # What needs no session.

    async def locks(self, prefix: str) -> Listing:
        _, _, answer = await self.first("GET", f"/v1/locks?prefix={quote(prefix, safe='')}")
        return Listing.read(answer)

    async def leader(self, name: str) -> Optional[Leader]:
        _, _, answer = await self.first("GET", f"/v1/leader?name={quote(name, safe='')}")
        return Leadership.read(answer).leader

    async def observe(self, name: str) -> Observation:
        observation = Observation(self, name)
        self._observations.add(observation)
        return observation

    async def close(self) -> None:
        """Ends all sessions."""
        self.is_closed = True
        for observation in self._observations:
            observation.stop()
        await asyncio.gather(*(session.close() for session in self._sessions.values()))
        for caller in self._callers.values():
            caller.close()
        background.last_words.discard(self._last_words)

    def shut_down(self) -> None:
        """Ends all sessions soon, without waiting; in a child of a fork, nothing. May be called by the garbage
        collector, that is, at any moment: if nothing was ever asked, there is nothing to be ended."""
        if self._callers and self.pid == os.getpid() and not self.is_closed:
            Call(self.close)

    def _last_words(self) -> None:
        try:
            Call(self.close).future.result(EXIT_WITHIN)
        except Exception:  # Nobody is left who could be told; sessions end by themselves.
            pass
