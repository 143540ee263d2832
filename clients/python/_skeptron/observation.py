"""Observing an election: at one node after the other, as they come and go."""

import asyncio
import json
from collections import deque
from typing import TYPE_CHECKING, Deque, List, Optional
from urllib.parse import quote

from .errors import Refused, SkeptronError, Unreachable
from .rules import Leadership, Seen

if TYPE_CHECKING:
    from .client import Client

#: A node that says nothing for so long, not even that it is there, is not there any more.
SILENT_AFTER = 6.0
#: The wait after all nodes have been tried in vain.
PAUSE = 0.3


class Observation:
    """What an observer of an election has not seen yet. Lives in the background thread."""

    def __init__(self, client: "Client", name: str) -> None:
        self._client = client
        self._name = name
        self._seen = Seen()
        self._has_begun = False
        self._news: Deque[Leadership] = deque()
        self._error: Optional[SkeptronError] = None
        self._changed = asyncio.Event()
        self._task = asyncio.ensure_future(self._observe())

    async def next(self) -> Leadership:
        """The next change. May be cancelled."""
        while not self._news:
            if self._error is not None:
                raise self._error
            self._changed.clear()
            await self._changed.wait()
        return self._news.popleft()

    def put_back(self, unseen: Leadership) -> None:
        """Whoever asked for it was gone when it came."""
        self._news.appendleft(unseen)
        self._changed.set()

    def stop(self) -> None:
        self._task.cancel()
        self._error = Unreachable("the observer, or its client, was closed")
        self._changed.set()

    async def _observe(self) -> None:
        troubles: List[str] = []
        place = 0
        try:
            while True:
                endpoints = self._client.endpoints()
                at = endpoints[place % len(endpoints)]
                place += 1
                after = "" if self._seen.term is None else f"&after={self._seen.term}"
                path = f"/v1/observe?name={quote(self._name, safe='')}{after}"
                events = self._client.caller(at).events(path, SILENT_AFTER)
                try:
                    async for _, data in events:
                        troubles.clear()
                        self._take(data)
                    trouble = f"{at}: the node has ended"
                except Unreachable as error:
                    trouble = str(error)
                except Refused as refused:
                    if refused.status != 503:
                        raise
                    trouble = f"{at}: {refused}"
                finally:
                    await events.aclose()
                self._seen.moves()
                troubles.append(trouble)
                if len(troubles) >= len(endpoints):
                    if not self._has_begun:
                        raise Unreachable("no node can be used: " + "; ".join(troubles))
                    await asyncio.sleep(PAUSE)
                    troubles.clear()
        except SkeptronError as error:
            self._error = error
            self._changed.set()

    def _take(self, data: str) -> None:
        try:
            told = Leadership.read(json.loads(data))
        except (ValueError, KeyError, TypeError) as error:
            raise Unreachable(f"what an observer was told cannot be read: {error}") from error
        self._has_begun = True
        news = self._seen.news(told)
        if news is not None:
            self._news.append(news)
            self._changed.set()
