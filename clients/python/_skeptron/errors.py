"""What can go wrong, as exceptions. All of them are `SkeptronError`."""

from typing import Any, Mapping, Optional


class SkeptronError(Exception):
    """Base class of all errors of this module."""


class Unreachable(SkeptronError):
    """No node gave a usable answer. The request may or may not have been carried out."""


class Refused(SkeptronError):
    """A node refused the request.

    `code` is for programs (see the table in docs/api.md), `status` is the HTTP status, `remedy` says what
    to do about it, and `answer` is all that the node said.
    """

    def __init__(self, status: int, code: str, error: str, remedy: str, answer: Mapping[str, Any]) -> None:
        super().__init__(f"{error} ({code}); {remedy}")
        self.status = status
        self.code = code
        self.error = error
        self.remedy = remedy
        self.answer = answer


class NotAcquired(SkeptronError):
    """The lock was not granted, or not upgraded, in time. `holder` is what the node says about its holder
    (of several, the last that acquired it), or None."""

    def __init__(
        self, lock: str, holder: Optional[Mapping[str, Any]] = None, done: str = "acquired"
    ) -> None:
        owner = holder.get("owner") if holder else None
        by = f"; held by {owner}" if owner else ""
        super().__init__(f"`{lock}` was not {done} in time{by}")
        self.lock = lock
        self.holder = holder


class UpgradeDenied(SkeptronError):
    """Another holder upgrades the lock and waits for this one, which holds it as before: release it, and
    acquire it again as exclusive."""

    def __init__(self, lock: str) -> None:
        super().__init__(
            f"`{lock}` was not upgraded: another holder upgrades it, and waits for this one to be released"
        )
        self.lock = lock


class Unavailable(SkeptronError):
    """The cluster cannot grant the lock at present, whoever asks: too many members are down or cut off."""


class SessionOver(SkeptronError):
    """The session ended before the lock was granted. The next acquire opens another one."""


class Lost(SkeptronError):
    """The lock is not held any more, or nothing proves that it is: somebody else may hold it by now."""

    def __init__(self, lock: str, fence: int, why: str) -> None:
        super().__init__(f"the lock `{lock}` with fence {fence} is lost: {why}")
        self.lock = lock
        self.fence = fence
