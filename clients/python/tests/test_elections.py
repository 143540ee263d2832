"""Elections: at real nodes if they have them, and what an observer is told."""

import asyncio
import json
import logging
import threading
import unittest

from _skeptron.rules import Leader, Leadership, Seen, Wish
from skeptron import AsyncSkeptron, Lost, Refused, Skeptron, Unreachable
from tests.cluster import PATIENCE, Cluster, until
from tests.test_answers import FakeNode, http
from tests.test_rules import holding, moved, opened


def leads(term, version=1, missed=False):
    return Leadership(Leader(term, f"value {version}", version, "me", 1), term, missed)


def vacant(term, missed=False):
    return Leadership(None, term, missed)


class Rules(unittest.TestCase):
    def test_an_observer_sees_each_change_once_and_in_order(self):
        seen = Seen()
        told = [
            (leads(3), True), (leads(3), False), (leads(3, 2), True), (leads(2, 9), False), (vacant(3), True),
            (leads(3, 3), False), (vacant(3), False), (vacant(3, missed=True), True), (leads(5), True),
            (vacant(4), True), (leads(5, 2), False),
        ]
        for place, (leadership, is_news) in enumerate(told):
            self.assertEqual(seen.news(leadership) is not None, is_news, place)
        self.assertEqual(seen.term, 5)

    def test_whoever_goes_to_another_node_may_have_missed_leaders_unless_it_is_the_same(self):
        seen = Seen()
        self.assertFalse(seen.news(leads(3)).missed)
        seen.moves()
        self.assertIsNone(seen.news(leads(3)))
        self.assertFalse(seen.news(leads(4)).missed)
        seen.moves()
        self.assertFalse(seen.news(leads(4, 2)).missed)
        seen.moves()
        self.assertTrue(seen.news(leads(6)).missed)
        self.assertFalse(seen.news(leads(7)).missed)

    def test_a_leader_brings_its_last_value_along(self):
        standing = opened()
        self.assertTrue(standing.granted(101.0, ("e", 9), 1, 0, Wish("e", value="one")))
        holding(standing)
        self.assertEqual(standing.proclaims(("e", 9), "two"), 2)
        self.assertIsNone(standing.proclaims(("a", 7), "two"), "it was locked, and does not lead")
        held = standing.start_move(1).body["held"]
        self.assertEqual([it.get("leads") for it in held], [{"value": "two", "version": 2}, None])
        self.assertIsNotNone(standing.taken(101.0, 101.0, 1, moved()))


def stream(*told):
    """Server-sent events, as chunks, with a comment between, and then the end."""
    def text(it):
        leader = None if it.leader is None else {**it.leader._asdict(), "term": str(it.leader.term)}
        body = {"leader": leader, "term": None if it.term is None else str(it.term), "missed": it.missed}
        return f": here\n\ndata: {json.dumps(body)}\n\n".encode()

    pieces = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in map(text, told))
    return b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n"


class Observing(unittest.TestCase):
    """At nodes that say what the test likes."""

    def test_an_observer_goes_on_at_another_node(self):
        first, second = FakeNode(observe=stream(vacant(None), leads(3))), FakeNode(observe=stream(leads(3), leads(5)))
        self.addCleanup(first.stop)
        self.addCleanup(second.stop)
        with Skeptron([first.endpoint, second.endpoint]) as client:
            observer = client.observe("workers")
            seen = [next(observer) for _ in range(3)]
            self.assertEqual(seen, [vacant(None), leads(3), leads(5)])
            until(lambda: second.asked, "the second node is asked")
            observer.close()

    def test_an_observer_that_gives_up_waiting_misses_nothing(self):
        node = FakeNode(observe=stream(leads(3), leads(4)))
        self.addCleanup(node.stop)

        async def work():
            async with AsyncSkeptron(node.endpoint) as client:
                observer = client.observe("workers")
                for _ in range(20):
                    waiting = asyncio.ensure_future(observer.__anext__())
                    await asyncio.sleep(0)
                    waiting.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await waiting
                self.assertEqual([(await observer.__anext__()).term for _ in range(2)], [3, 4])

        asyncio.run(asyncio.wait_for(work(), PATIENCE))

    def test_who_cannot_observe_is_told(self):
        node = FakeNode(observe=http(403, {"code": "permission-denied", "error": "no", "remedy": "ask"}))
        self.addCleanup(node.stop)
        with Skeptron(node.endpoint) as client:
            with self.assertRaises(Refused):
                next(client.observe("workers"))
        with Skeptron("http://127.0.0.1:1") as client:
            with self.assertRaises(Unreachable):
                next(client.observe("workers"))


class AtNodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        logging.getLogger("skeptron").setLevel(logging.ERROR)
        cls.cluster = Cluster(lease="6s")
        cls.addClassCleanup(cls.cluster.stop)
        with Skeptron(cls.cluster.endpoints()) as client:
            try:
                client.leader("whoever")
            except Refused as refused:
                if refused.code == "no-such-path":
                    raise unittest.SkipTest("this node has no elections")
                raise

    def client(self, *first):
        client = Skeptron(self.cluster.endpoints(*first), ttl=30)
        self.addCleanup(client.close)
        return client

    def test_a_leader_is_seen_at_every_node(self):
        one, two, three = self.client(1), self.client(2), self.client(3)
        observer = two.observe("seen")
        self.assertIsNone(next(observer).leader)
        with one.campaign("seen", "http://one") as hold:
            leader = three.leader("seen")
            self.assertEqual((leader.value, leader.term), ("http://one", hold.fence))
            self.assertEqual(next(observer).leader.value, "http://one")
            hold.proclaim("http://two")
            self.assertEqual(next(observer).leader[:3], (hold.fence, "http://two", 2))
        self.assertIsNone(next(observer).leader)
        self.assertIsNone(three.leader("seen"))
        self.assertRaises(Lost, hold.proclaim, "late")
        with one.lock("seen") as hold:
            self.assertRaises(ValueError, hold.proclaim, "only locked")

    def test_leaders_follow_each_other_across_the_death_of_nodes(self):
        """Every leader is seen once, in the order of terms, with the value that it had last."""
        first, second = self.client(1), self.client(2)
        observer = self.client(3).observe("follow")
        hold = first.campaign("follow", "first").acquire()
        hold.proclaim("still first")
        elected = []
        thread = threading.Thread(target=lambda: elected.append(second.campaign("follow", "second").acquire()))
        thread.start()
        until(lambda: sum(it.waiters for it in second.locks("follow")) == 1, "the second waits")
        self.cluster.nodes[0].kill()
        until(lambda: first._inner.endpoints()[0] != next(iter(first._inner._sessions.values())).standing.at,
              "the leader's session moves")
        hold.check()
        until(lambda: next(iter(first._inner._sessions.values())).standing.moving is None, "it settles")
        until(lambda: self.client(3).leader("follow").value == "still first", "it still leads")
        hold.resign()
        thread.join(PATIENCE)
        with elected[0] as later:
            self.assertGreater(later.fence, hold.fence)
            seen = []
            while not seen or seen[-1][1] != "second":
                leader = next(observer).leader
                if leader is not None:
                    seen.append((leader.term, leader.value))
        self.assertEqual(sorted(seen), seen)
        self.assertEqual(len({term for term, _ in seen}), 2)
        self.cluster.nodes[0].restart()

    def test_the_same_with_asyncio(self):
        async def work():
            async with AsyncSkeptron(self.cluster.endpoints(), ttl=30) as client:
                observer = client.observe("async")
                self.assertIsNone((await observer.__anext__()).leader)
                async with client.campaign("async", "me") as hold:
                    self.assertEqual((await observer.__anext__()).leader.term, hold.fence)
                    await hold.proclaim("still me")
                    async for leadership in observer:
                        self.assertEqual(leadership.leader.value, "still me")
                        break
                    self.assertEqual((await client.leader("async")).value, "still me")
                    await hold.resign()
                self.assertIsNone(await client.leader("async"))
                observer.close()

        asyncio.run(asyncio.wait_for(work(), PATIENCE))


if __name__ == "__main__":
    unittest.main()
