"""The rules of a session: until when it is valid, where it is, and when it moves to another node.

Nothing here reads a clock, sends or waits. Time is an argument (seconds on one clock that is never set
back), and requests and answers are plain data, so the tests need neither nodes nor patience.
"""

import re
from dataclasses import dataclass
from typing import Any, Dict, Hashable, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

#: How far a clock's rate may be off, in parts per million, unless the node says otherwise.
DRIFT_PPM = 1000
#: How long a node may take to say whether it takes a session, at most.
TAKEN_WITHIN = 0.7
#: No pause between two signs of life is shorter, whatever a node promises.
SHORTEST_PACE = 0.02
#: How long a session that comes from a node which leaves waits before it asks again whether it has arrived.
ARRIVES_WITHIN = 0.1
#: What is longer than this is for ever.
FOREVER = float("inf")

#: A lock's name and the fence of one entry.
Entry = Tuple[str, int]
#: Where a node is; what it looks like is of no concern here.
Where = Hashable

#: How many may be inside together, as one entry sees it: `exclusive`, `shared` or `permits:K`.
Mode = str
EXCLUSIVE: Mode = "exclusive"


def checked_mode(mode: Mode) -> Mode:
    """A mode as nodes write it."""
    _most(mode)
    return EXCLUSIVE if mode == "permits:1" else mode


def is_within(mode: Mode, other: Mode) -> bool:
    """Whether whoever holds a lock in this mode may do what the other one allows."""
    return _most(mode) <= _most(other)


def _most(mode: Mode) -> float:
    permits = re.fullmatch("permits:([1-9][0-9]{0,8})", mode) if isinstance(mode, str) else None
    if permits is not None:
        return int(permits.group(1))
    if mode not in (EXCLUSIVE, "shared"):
        raise ValueError(f"`mode` is 'exclusive', 'shared' or 'permits:K' with K from 1 on, not {mode!r}")
    return 1 if mode == EXCLUSIVE else FOREVER


def believed(seconds: float, drift_ppm: float) -> float:
    """For how long to believe in what a node promises for `seconds`, each by its own clock."""
    rho = min(drift_ppm, 1e6) / 1e6
    return seconds * (1 - rho) / (1 + rho)


class Ask(NamedTuple):
    """A request to the node at one endpoint."""

    at: Where
    method: str
    path: str
    body: Optional[Dict[str, Any]]
    within: float


class Wish(NamedTuple):
    """What an acquire is to come to."""

    lock: str
    mode: Mode = EXCLUSIVE
    #: With which to lead, if so.
    value: Optional[str] = None
    #: The fence of an entry that is to be exclusive, if so.
    upgrade: Optional[int] = None

    def question(self) -> Tuple[str, Dict[str, Any]]:
        """The path, and what the body says of it."""
        if self.value is not None:
            return "/v1/campaign", {"name": self.lock, "value": self.value}
        body: Dict[str, Any] = {"lock": self.lock}
        if self.mode != EXCLUSIVE:
            body["mode"] = self.mode
        if self.upgrade is not None:
            body["upgrade"] = str(self.upgrade)
        return "/v1/acquire", body

    def entry(self, answer: Mapping[str, Any]) -> Entry:
        """What was granted."""
        return self.lock, int(answer["fence" if self.value is None else "term"])


@dataclass
class Holding:
    """What is known of an entry that a session holds."""

    #: The number of the acquire.
    request: int
    #: What the client believes: less as soon as it asks for less, more when it is told so.
    mode: Mode = EXCLUSIVE
    #: The last value that the client gave it, if it leads, whether or not that was answered.
    value: Optional[str] = None
    version: int = 1


@dataclass
class Moving:
    """A session on its way to the node at endpoint `to`."""

    to: Where
    number: int
    #: What it brings.
    held: List[Dict[str, Any]]
    #: The last number of an acquire before it.
    requests: int
    #: Whether the node there has taken it; the life where it was may still act.
    is_taken: bool = False


class Standing:
    """One session as its client may believe in it."""

    def __init__(self, opened: Mapping[str, Any], sent: float, at: Where, owner: str) -> None:
        self.id: str = opened["session"]
        self.ttl: float = opened["ttl_ms"] / 1000
        self.owner = owner
        self.drift_ppm: float = DRIFT_PPM
        #: The epoch of the view that the node last told; it tells other nodes' addresses with another one.
        self._epoch: Optional[int] = None
        self._learn(opened)
        #: What the node last promised.
        self.valid: float = opened["valid_ms"] / 1000
        #: The session certainly lives until then.
        self.until = sent + self._believed(self.valid)
        #: Until when it lives where it is even if that node loses its lease.
        self.lives_until = sent + self._believed(self.ttl)
        #: Why it is over; it never comes back.
        self.over: Optional[str] = None
        #: The endpoint where it is, and which life of the node there; without a place it cannot move.
        self.at = at
        self.place: Optional[Mapping[str, Any]] = opened.get("place")
        #: That node has said that it leaves: whatever else it says is void.
        self.home_leaves = False
        #: It is about to, and grants nothing any more; its signs of life count until another node has taken
        #: the session.
        self.home_closes = False
        #: The number of the move that brought it there (0 if it was opened there), and of the last try.
        self.moved = 0
        self.moves = 0
        self.moving: Optional[Moving] = None
        #: Moves that were tried since it was settled, by endpoint.
        self._tried: Dict[Where, int] = {}
        #: What it holds, and what it has lost of that.
        self.held: Dict[Entry, Holding] = {}
        self.lost: Set[Entry] = set()
        self._requests = 0

    def _believed(self, seconds: float) -> float:
        return believed(seconds, self.drift_ppm)

    # What holds now.

    def is_valid(self, now: float) -> bool:
        """Whether the session certainly has not ended."""
        return self.over is None and now < self.until

    def valid_for(self, now: float) -> float:
        """For how long it certainly does not end, even if no further sign of life gets through."""
        return max(0.0, self.until - now) if self.over is None else 0.0

    def pace(self) -> float:
        """How often to give a sign: a node that loses its lease must not take the session by surprise."""
        return max(SHORTEST_PACE, min(self.ttl / 3, self.valid / 4))

    def pause(self) -> float:
        """When the next sign is due. A node that leaves is gone soon: as long as the session does not know
        that it has arrived, it cannot go on from there, should the node that took it leave as well."""
        is_due_soon = self.moving is not None and self.home_leaves
        return min(self.pace(), ARRIVES_WITHIN) if is_due_soon else self.pace()

    def can_move(self, endpoints: Sequence[Where]) -> bool:
        """Whether there is another node to go to."""
        return self.place is not None and any(at != self.at for at in endpoints)

    # Acquires and what came of them.

    def next_request(self) -> int:
        """A number that no other acquire of this session has."""
        self._requests += 1
        return self._requests

    def granted(self, now: float, entry: Entry, request: int, moved: int, wish: Wish) -> bool:
        """A lock was granted where that move had brought the session. Whether it is the session's:
        not if it moves without it, or may have ended meanwhile."""
        stays = self.is_valid(now) and self.moving is None and self.moved == moved
        if stays:
            if wish.upgrade is not None:
                self.let_go((wish.lock, wish.upgrade))
            self.held[entry] = Holding(request, wish.mode, wish.value)
        return stays

    def shares(self, entry: Entry, mode: Mode) -> None:
        """The session believes no more than that it holds this beside others, whatever its node knows."""
        holding = self.held.get(entry)
        if holding is not None:
            holding.mode = mode

    def proclaims(self, entry: Entry, value: str) -> Optional[int]:
        """The session is to lead with this value. The version of the value; none if it does not lead."""
        if not self.leads(entry):
            return None
        holding = self.held[entry]
        holding.value, holding.version = value, holding.version + 1
        return holding.version

    def leads(self, entry: Entry) -> bool:
        """Whether the session leads by this entry."""
        holding = self.held.get(entry)
        return holding is not None and holding.value is not None

    def let_go(self, entry: Entry) -> None:
        """The session does not hold this any more."""
        self.held.pop(entry, None)
        self.lost.discard(entry)

    def note_lost(self, entries: Iterable[Entry]) -> None:
        """A node says that the session has lost these."""
        # What is lost stays lost, even if a later answer does not mention it.
        self.lost.update(entry for entry in entries if entry in self.held)

    # Signs of life where the session is.

    def sign(self) -> Optional[Ask]:
        """The next sign of life; none for a node that leaves: nothing it says counts any more."""
        if self.home_leaves:
            return None
        known = {"life": self.place and self.place["life"], "epoch": self._epoch}
        query = "&".join(f"{name}={value}" for name, value in known.items() if value is not None)
        path = f"/v1/sessions/{self.id}/keep-alive" + ("?" + query if query else "")
        return Ask(self.at, "POST", path, None, self.pace())

    def kept(
        self, now: float, sent: float, moved: int, answer: Mapping[str, Any]
    ) -> Optional[List[Ask]]:
        """The node where that move had brought the session has answered a sign sent at `sent`. Returns
        what to tell others, now that the session stays; none if the answer does not count."""
        valid = answer["valid_ms"] / 1000
        # A late word of a former node; or of one whose own lease has ended.
        if self.over is not None or moved != self.moved or self.home_leaves or valid <= 0:
            return None
        self._learn(answer)
        self._believe(now, sent, valid, FOREVER, is_other=self.moving is not None)
        self.lives_until = max(self.lives_until, sent + self._believed(self.ttl))
        self.note_lost(_entries(answer["lost"]))
        self.moving = None
        return self._leave_tries(but=None)

    def not_kept(self, moved: int, status: int, code: str) -> None:
        """The node where that move had brought the session refuses a sign of life."""
        if moved != self.moved or self.over is not None:
            return
        if code == "leaving":
            self.home_leaves = True
        elif status == 410:
            self.over = "the node says that the session has ended"

    def not_granted(self, moved: int, code: str) -> None:
        """The node where that move had brought the session refuses a request."""
        if moved == self.moved and self.over is None and code == "leaving":
            self.home_closes = True

    def _believe(
        self, now: float, sent: float, valid: float, most: float, is_other: bool
    ) -> None:
        """A node promises this for a sign that was sent then. What ended stays ended; and the first word
        of another node is the only one that counts, since the former one may go."""
        self.valid = valid
        if now < self.until:
            until = min(sent + self._believed(valid), most)
            self.until = until if is_other else max(until, self.until)

    def _learn(self, answer: Mapping[str, Any]) -> None:
        """What a node says of the cluster."""
        told = answer.get("drift_ppm")
        self.drift_ppm = self.drift_ppm if told is None else told
        self._epoch = answer.get("epoch")

    # Moves to another node.

    def candidates(self, endpoints: Sequence[Where]) -> List[Where]:
        """Where else the session may go, beginning after where it is. A node that has taken it is asked
        again under the number that it knows, not here."""
        taken = self.moving.to if self.moving and self.moving.is_taken else None
        place = endpoints.index(self.at) if self.at in endpoints else 0
        others = [*endpoints[place:], *endpoints[:place]]
        return [to for to in others if to not in (self.at, taken)]

    def start_move(self, to: Where) -> Ask:
        """Begins to move. What is granted from now on where it was is not brought along."""
        self.moves += 1
        held: List[Dict[str, Any]] = []
        for (lock, fence), holding in self.held.items():
            if (lock, fence) not in self.lost:
                held.append({"lock": lock, "fence": str(fence), "request": holding.request})
                if holding.mode != EXCLUSIVE:
                    held[-1]["mode"] = holding.mode
                if holding.value is not None:
                    held[-1]["leads"] = {"value": holding.value, "version": holding.version}
        self.moving = Moving(to, self.moves, held, self._requests)
        self._tried[to] = self.moves
        return self.move()

    def move(self) -> Ask:
        """The question to the node that the session moves to; the same again is a sign of life."""
        assert self.moving is not None
        body = {
            "from": self.place,
            "number": self.moving.number,
            "ttl_ms": round(self.ttl * 1000),
            "owner": self.owner,
            "requests": self.moving.requests,
            "held": self.moving.held,
        }
        within = min(max(self.pace(), TAKEN_WITHIN / 4), TAKEN_WITHIN)
        return Ask(self.moving.to, "POST", f"/v1/sessions/{self.id}/move", body, within)

    def taken(
        self, now: float, sent: float, number: int, answer: Mapping[str, Any]
    ) -> Optional[List[Ask]]:
        """The node that the session moves to has answered. Returns what to tell others; none if the
        session does not go there."""
        moving = self.moving
        if self.over is not None or moving is None or moving.number != number:
            return None
        valid = answer["valid_ms"] / 1000
        # The first word of another node replaces what the former promised: one whose own lease is about
        # to end promises next to nothing.
        if not moving.is_taken and valid < self.pace():
            return None
        is_first, moving.is_taken = not moving.is_taken, True
        self._learn(answer)
        if self.place is not None and answer["place"]["life"] == self.place["life"]:
            # The same life under another address: nothing has moved.
            self.at, self.moving = moving.to, None
            self.lives_until = max(self.lives_until, sent + self._believed(self.ttl))
            self.note_lost(_entries(answer["lost"]))
            self._believe(now, sent, valid, FOREVER, is_other=True)
            return self._leave_tries(but=moving.to)
        self.home_leaves |= self.home_closes
        if answer["pending"]:
            self._believe(now, sent, valid, self.lives_until, is_first)
            # Only a node that leaves, so that the session cannot go on there, may be told.
            home = [self._left_behind(self.at, self.moved)] if self.home_leaves else []
            return home + self._leave_tries(but=moving.to)
        home = [self._left_behind(self.at, self.moved)]
        self.moving = None
        self.at, self.moved = moving.to, number
        self.home_leaves = self.home_closes = False
        self.place = answer["place"]
        self.lives_until = sent + self._believed(self.ttl)
        self.note_lost(_entries(answer["lost"]))
        self._believe(now, sent, valid, FOREVER, is_other=True)
        return home + self._leave_tries(but=moving.to)

    def not_taken(self, former: Optional[Moving]) -> None:
        """Nobody took it: back to where it was, or to the node that had taken it before."""
        self.moving = former if former is not None and former.is_taken else None

    def _leave_tries(self, but: Optional[Where]) -> List[Ask]:
        behind = [self._left_behind(at, number) for at, number in self._tried.items() if at != but]
        self._tried = {at: number for at, number in self._tried.items() if at == but}
        if self.moving is None:
            self._tried = {}
        return behind

    def _left_behind(self, at: Where, number: int) -> Ask:
        """Tells a node that what came of this move is not needed there any more. If it does not get
        through, it ends with the TTL."""
        return Ask(at, "POST", f"/v1/sessions/{self.id}/moved", {"number": number}, TAKEN_WITHIN)


def _entries(lost: List[Mapping[str, Any]]) -> List[Entry]:
    return [(it["lock"], int(it["fence"])) for it in lost]


def is_over_there(can_move: bool, status: Optional[int], code: str) -> bool:
    """Whether to ask the same again: the node cannot be reached (no status), or another may know more."""
    if status is None:
        return True
    if code == "moving":
        return True
    return can_move and status in (410, 421, 503) and code not in ("full", "unavailable")


class Leader(NamedTuple):
    """Who leads an election."""

    #: The fence of its entry: larger than that of every earlier leader.
    term: int
    #: What it says of itself, and how often it has said something in this term.
    value: str
    version: int
    #: What it is called.
    owner: str
    #: The member where its session is.
    node: int


class Leadership(NamedTuple):
    """What an observer of an election is told."""

    #: None if nobody leads.
    leader: Optional[Leader]
    #: Of the leader; if nobody leads, the last one that is known.
    term: Optional[int]
    #: Whether leaders may have come and gone unseen before this.
    missed: bool

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> "Leadership":
        """Of JSON."""
        led, term = answer["leader"], answer["term"]
        leader = None
        if led is not None:
            leader = Leader(int(led["term"]), led["value"], led["version"], led["owner"], led["node"])
        return cls(leader, None if term is None else int(term), answer["missed"])


class Seen:
    """What an observer has seen: it is told each change once, and never goes back to an earlier term,
    whichever nodes it asks."""

    def __init__(self) -> None:
        self.term: Optional[int] = None
        self._last: Optional[Tuple[int, float]] = None
        self._has_missed = False

    def moves(self) -> None:
        """It goes to another node: leaders may come and go meanwhile."""
        self._has_missed = self._last is not None

    def news(self, told: Leadership) -> Optional[Leadership]:
        """What the observer is told of this, if it is news."""
        if told.leader is None and self.term is not None:
            # It may have seen a leader that this node never heard of and that is gone.
            told = told._replace(term=max(told.term or 0, self.term))
        # The same entry all the time: nobody led in between.
        is_same = told.leader is not None and told.term == self.term
        has_missed = self._has_missed and not is_same
        place = (told.term or 0, told.leader.version if told.leader else FOREVER)
        last = self._last
        if last is not None and (place < last or place == last and not told.missed):
            self._has_missed = has_missed
            return None
        self._has_missed, self._last, self.term = False, place, told.term
        return told._replace(missed=told.missed or has_missed)
