"""Who holds what, as a node lists it."""

from typing import Any, List, Mapping, NamedTuple, Optional


class Holder(NamedTuple):
    """Who holds a lock."""

    #: The number of the member where it is held.
    node: int
    owner: str
    fence: int
    #: For how long, in seconds.
    held_for: float
    #: How many others it tolerates: `exclusive`, `shared` or `permits:K`.
    mode: str = "exclusive"


class LockInfo(NamedTuple):
    """A lock that is held or waited for."""

    name: str
    #: Of several that hold it together, the last that acquired it.
    holder: Optional[Holder]
    waiters: int
    algorithm: str
    #: How many hold it.
    inside: int = 0


class Listing(List[LockInfo]):
    """A list of `LockInfo`. `silent` has the numbers of members that did not answer in time; `complete`
    is false if that, or the limit of an answer, left something out."""

    silent: List[int]
    complete: bool

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> "Listing":
        """Of JSON."""
        listing = cls(_lock_info(lock) for lock in answer["locks"])
        listing.silent = answer["silent"]
        listing.complete = answer["complete"]
        return listing


def _lock_info(lock: Mapping[str, Any]) -> LockInfo:
    held = lock["holder"]
    holder = held and Holder(
        held["node"], held["owner"], int(held["fence"]), held["held_ms"] / 1000, held.get("mode", "exclusive")
    )
    inside = lock.get("inside", 1 if holder else 0)
    return LockInfo(lock["name"], holder, lock["waiters"], lock["algorithm"], inside)
