"""The thread that does everything that waits: one event loop for all clients of a process.

Programs with threads and programs with their own event loop hand their calls to it. So there is one
implementation of everything below; thousands of calls that wait cost connections, not threads; and
sessions are kept alive while the program's own event loop is busy with something else.
"""

import asyncio
import atexit
import concurrent.futures
import os
import threading
import time
from typing import Any, Awaitable, Callable, Generic, Optional, Set, TypeVar

T = TypeVar("T")


def clock() -> float:
    """Seconds on a clock that is never set back and, where the system has one, counts suspended time."""
    return _read_clock()


def _choose_clock() -> Callable[[], float]:
    # On macOS `time.monotonic` stops during sleep and CLOCK_MONOTONIC does not; on Linux CLOCK_BOOTTIME counts it.
    is_mac = os.uname().sysname == "Darwin" if hasattr(os, "uname") else False
    name = "CLOCK_MONOTONIC" if is_mac else "CLOCK_BOOTTIME"
    number = getattr(time, name, None)
    if number is None:
        return time.monotonic
    return lambda: time.clock_gettime(number)


_read_clock = _choose_clock()


class Call(Generic[T]):
    """Something that the background thread does for somebody who waits, or gives up waiting."""

    def __init__(
        self, work: Callable[[], Awaitable[T]], discard: Callable[[T], None] = lambda _: None
    ) -> None:
        self.future: "concurrent.futures.Future[T]" = concurrent.futures.Future()
        self._work = work
        self._discard = discard
        self._task: Optional["asyncio.Task[None]"] = None
        run(self._begin)

    def result(self) -> T:
        """Waits in this thread. Whoever is interrupted meanwhile leaves nothing behind."""
        try:
            return self.future.result()
        except BaseException:
            self.abandon()
            raise

    async def wait(self) -> T:
        """Waits in the caller's event loop, and may be cancelled there."""
        try:
            return await asyncio.wrap_future(self.future)
        except asyncio.CancelledError:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Nobody wants the result any more: it is undone if it comes nevertheless."""
        if self.future.cancel():
            run(self._cancel)
        elif self.future.exception() is None:
            result = self.future.result()
            run(lambda: self._discard(result))

    def _begin(self) -> None:
        if not self.future.cancelled():
            self._task = asyncio.ensure_future(self._perform())

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _perform(self) -> None:
        try:
            result = await self._work()
        except asyncio.CancelledError:
            self.future.cancel()
            self.future.set_running_or_notify_cancel()
        except BaseException as error:  # Whoever waits gets it, whatever it is.
            if self.future.set_running_or_notify_cancel():
                self.future.set_exception(error)
        else:
            if self.future.set_running_or_notify_cancel():
                self.future.set_result(result)
            else:
                self._discard(result)


class _Thread:
    """The event loop and its thread. A child of a fork gets its own at its first call."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.loop: Optional[asyncio.AbstractEventLoop] = None
        self.thread: Optional[threading.Thread] = None

    def start(self) -> asyncio.AbstractEventLoop:
        loop = self.loop
        if loop is not None:
            return loop
        with self.lock:
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                self.thread = threading.Thread(
                    target=self._run, args=(self.loop,), name="skeptron", daemon=True
                )
                self.thread.start()
            return self.loop

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        finally:
            loop.close()

    def stop(self) -> None:
        with self.lock:
            if self.loop is not None and self.thread is not None:
                self.loop.call_soon_threadsafe(self.loop.stop)
                self.thread.join(1.0)
            self.loop = self.thread = None


_background = _Thread()
#: Runs when the interpreter exits, before the thread stops.
last_words: Set[Callable[[], Any]] = set()


def run(callback: Callable[[], Any]) -> None:
    _background.start().call_soon_threadsafe(callback)


def _after_fork() -> None:
    global _background
    if _background.loop is not None:
        # They go on in the parent; here they are forgotten without a complaint.
        for task in asyncio.all_tasks(_background.loop):
            setattr(task, "_log_destroy_pending", False)
    _background = _Thread()
    last_words.clear()


def _at_exit() -> None:
    for speak in list(last_words):
        speak()
    _background.stop()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
