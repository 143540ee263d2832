"""Requests to one node: a small and strict HTTP/1.1 on asyncio streams, over TCP, TLS or a Unix socket."""

import asyncio
import json
import re
import ssl
import time
from typing import Any, AsyncGenerator, Callable, Dict, List, NamedTuple, Optional, Tuple

from .endpoints import Endpoint
from .errors import Refused, SkeptronError, Unreachable

#: How long a connection may take to come about, with TLS.
CONNECT_WITHIN = 5.0
#: How many connections are kept for later, and for how long: less than the node lets them be.
MOST_IDLE = 8
IDLE_FOR = 30.0
MOST_HEAD_BYTES = 16 << 10
MOST_BODY_BYTES = 16 << 20

#: What breaks a connection.
_BROKEN = (OSError, EOFError, asyncio.LimitOverrunError, ValueError)


class _Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


def _close(connection: _Connection) -> None:
    connection.writer.transport.abort()


class _Head(NamedTuple):
    status: int
    length: Optional[int]  # None if the body is chunked.
    is_kept: bool


def give_up(task: "asyncio.Task[Any]", discard: Callable[[Any], Any] = lambda _: None) -> None:
    """Cancels a task. If it has a result nevertheless, that is discarded."""

    def settle(done: "asyncio.Task[Any]") -> None:
        if not done.cancelled() and done.exception() is None:
            discard(done.result())

    task.cancel()
    task.add_done_callback(settle)


async def within(
    seconds: float, coroutine: Any, what: str, discard: Callable[[Any], Any] = lambda _: None
) -> Any:
    """The result, if it comes in time; later it is discarded. Unlike `asyncio.wait_for`, this never
    swallows a cancellation or a result."""
    task = asyncio.ensure_future(coroutine)
    try:
        done, _ = await asyncio.wait({task}, timeout=max(0.0, seconds))
    except asyncio.CancelledError:
        give_up(task, discard)
        raise
    if done:
        return task.result()
    give_up(task, discard)
    raise Unreachable(f"{what}: timed out after {seconds:.1f} s")


class Caller:
    """Asks the node at one endpoint. Used in one event loop."""

    def __init__(
        self, endpoint: Endpoint, token: Optional[str], tls: Optional[ssl.SSLContext]
    ) -> None:
        self.endpoint = endpoint
        if endpoint.scheme == "https" and tls is None:
            raise ValueError(f"{endpoint} needs a TLS context")
        self._tls = tls if endpoint.scheme == "https" else None
        fields = [f"Host: {endpoint.authority}"]
        if token is not None:
            fields.append(f"Authorization: Bearer {token}")
        self._fields = fields
        self._idle: List[Tuple[_Connection, float]] = []

    async def ask(self, method: str, path: str, body: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        """One request and its answer.

        Raises `Unreachable` if there is none, `Refused` if the node says no. A kept connection may have
        been closed meanwhile, so a new one is tried when it breaks: everything may be asked twice.
        """
        request = self._request(method, path, body)
        kept = self._kept()
        if kept is not None:
            try:
                return self._read(*await self._exchange(kept, request))
            except _BROKEN:
                pass
        connection = await self._connect()
        try:
            answer = await self._exchange(connection, request)
        except _BROKEN as error:
            raise self._unreachable(error) from error
        return self._read(*answer)

    async def events(self, path: str, silence: float) -> AsyncGenerator[Tuple[str, str], None]:
        """Server-sent events, each with its name and data, until the node ends them. A stream that is
        silent for so long, without even a comment, is taken to be dead."""
        connection = await self._connect()
        try:
            await self._send(connection, self._request("GET", path, None))
            head = await within(silence, self._head(connection), str(self.endpoint))
            if head.status != 200:
                self._read(head.status, await self._body(connection, head))
            lines = _Lines()
            name, data = "message", []
            while True:
                piece = await within(silence, self._chunk(connection), str(self.endpoint))
                if not piece:
                    return
                for line in lines.add(piece):
                    field, _, value = line.partition(":")
                    value = value[1:] if value.startswith(" ") else value
                    if field == "event":
                        name = value
                    elif field == "data":
                        data.append(value)
                    elif not line and data:
                        yield name, "\n".join(data)
                    if not line:
                        name, data = "message", []
        except _BROKEN as error:
            raise self._unreachable(error) from error
        finally:
            _close(connection)

    def close(self) -> None:
        """Closes the connections that are kept."""
        for connection, _ in self._idle:
            _close(connection)
        self._idle.clear()

    def _request(self, method: str, path: str, body: Optional[Dict[str, Any]]) -> bytes:
        content = b"" if body is None else json.dumps(body).encode()
        fields = [*self._fields, f"Content-Length: {len(content)}"]
        if body is not None:
            fields.append("Content-Type: application/json")
        return "\r\n".join([f"{method} {path} HTTP/1.1", *fields, "", ""]).encode("ascii") + content

    def _read(self, status: int, content: bytes) -> Dict[str, Any]:
        try:
            answer = json.loads(content)
            if not isinstance(answer, dict):
                raise ValueError("not an object")
            if 200 <= status < 300:
                return answer
            code, error, remedy = (str(answer[name]) for name in ("code", "error", "remedy"))
        except (ValueError, KeyError) as why:
            raise Unreachable(f"{self.endpoint} answers {status}, which is not a node: {why}") from why
        if code == "tls-only":
            # Another endpoint may be right: to this client the node is not there.
            raise Unreachable(f"{self.endpoint}: {error}; {remedy}")
        raise Refused(status, code, error, remedy, answer)

    def _unreachable(self, error: BaseException) -> SkeptronError:
        why = str(error) or "the connection was closed"
        return Unreachable(f"{self.endpoint}: {why}")

    async def _exchange(self, connection: _Connection, request: bytes) -> Tuple[int, bytes]:
        is_kept = False
        try:
            await self._send(connection, request)
            head = await self._head(connection)
            content = await self._body(connection, head)
            is_kept = head.is_kept and len(self._idle) < MOST_IDLE
        finally:
            # Also when cancelled: the answer to come would be taken for that of the next request.
            if is_kept:
                self._idle.append((connection, time.monotonic()))
            else:
                _close(connection)
        return head.status, content

    @staticmethod
    async def _send(connection: _Connection, request: bytes) -> None:
        connection.writer.write(request)
        await connection.writer.drain()

    @staticmethod
    async def _head(connection: _Connection) -> _Head:
        text = (await connection.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = text[:-4].split("\r\n")
        match = re.fullmatch(r"HTTP/1\.1 ([2-5][0-9]{2})(?: .*)?", first)
        if match is None:
            raise ValueError(f"`{first[:80]}` is not an answer of HTTP/1.1")
        fields: Dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            name = name.lower()
            if not colon or name in fields and name in ("content-length", "transfer-encoding"):
                raise ValueError(f"`{line[:80]}` is not a header of HTTP")
            fields[name] = value.strip()
        is_kept = fields.get("connection", "").lower() != "close"
        if fields.get("transfer-encoding", "").lower() == "chunked":
            return _Head(int(match.group(1)), None, is_kept)
        length = fields.get("content-length", "")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > MOST_BODY_BYTES:
            raise ValueError(f"an answer of `{length}` bytes cannot be read")
        return _Head(int(match.group(1)), int(length), is_kept)

    async def _body(self, connection: _Connection, head: _Head) -> bytes:
        if head.length is not None:
            return await connection.reader.readexactly(head.length)
        content = bytearray()
        while True:
            piece = await self._chunk(connection)
            if not piece:
                return bytes(content)
            content += piece
            if len(content) > MOST_BODY_BYTES:
                raise ValueError("the answer is too long")

    @staticmethod
    async def _chunk(connection: _Connection) -> bytes:
        """The next chunk; empty at the end."""
        line = (await connection.reader.readuntil(b"\r\n"))[:-2]
        if not re.fullmatch(b"[0-9a-fA-F]{1,7}", line):
            raise ValueError("the length of a chunk cannot be read")
        piece = await connection.reader.readexactly(int(line, 16))
        if await connection.reader.readexactly(2) != b"\r\n":
            raise ValueError("a chunk does not end where it says")
        return piece

    def _kept(self) -> Optional[_Connection]:
        """The connection that was used last and is neither closed nor too old."""
        while self._idle:
            connection, since = self._idle.pop()
            if time.monotonic() - since < IDLE_FOR and not connection.reader.at_eof():
                return connection
            _close(connection)
        return None

    async def _connect(self) -> _Connection:
        try:
            return await within(CONNECT_WITHIN, self._dial(), f"{self.endpoint}: connecting", _close)
        except _BROKEN as error:
            raise self._unreachable(error) from error

    async def _dial(self) -> _Connection:
        endpoint, limit = self.endpoint, MOST_HEAD_BYTES
        if endpoint.scheme == "unix":
            return _Connection(*await asyncio.open_unix_connection(endpoint.host, limit=limit))
        opened = asyncio.open_connection(endpoint.host, endpoint.port, ssl=self._tls, limit=limit)
        return _Connection(*await opened)


class _Lines:
    """Whole lines of pieces of text."""

    def __init__(self) -> None:
        self._rest = b""

    def add(self, piece: bytes) -> List[str]:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > MOST_BODY_BYTES:
            raise ValueError("a line is too long")
        return [line.rstrip(b"\r").decode("utf-8", "replace") for line in lines]
