"""The client while nodes are killed, stopped, leave and come back."""

import asyncio
import logging
import threading
import time
import unittest

from skeptron import AsyncSkeptron, Lost, NotAcquired, SessionOver, Skeptron, SkeptronError
from tests.cluster import PATIENCE, Cluster, until

#: A hold survives its node if its TTL is at least twice the lease.
LEASE, TTL = "6s", 30


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        logging.getLogger("skeptron").setLevel(logging.ERROR)
        cls.cluster = Cluster(lease=LEASE)
        cls.addClassCleanup(cls.cluster.stop)

    def tearDown(self):
        # The next test finds all nodes up, whatever became of this one.
        for node in self.cluster.nodes:
            node.resume() if node.process.poll() is None else node.start()
        self.cluster.until_ready()

    def client(self, *first, only=False, **more):
        endpoints = self.cluster.endpoints(*first)
        given = endpoints[: len(first)] if only else endpoints
        client = Skeptron(given, ttl=more.pop("ttl", TTL), discovery=not only, **more)
        self.addCleanup(client.close)
        return client

    @staticmethod
    def place(client):
        """The node where the client's session is, and whether it has settled there."""
        [session] = client._inner._sessions.values()
        standing = session.standing
        return standing.at, standing.moving is None

    def until_moved(self, client, hold=None):
        """Waits until the session has settled at another node than it was opened at; the hold is valid all
        the time."""
        first = client._config.endpoints[0]

        def has_moved():
            if hold is not None:
                hold.check()
            at, is_settled = self.place(client)
            return at != first and is_settled

        until(has_moved, "the session moves")

    def holds_through(self, harm):
        """Does harm to the node of a holder, which goes on with the same lock and the same fence."""
        lost = []
        holder = self.client(1)
        lock = f"held through {harm}"
        hold = holder.lock(lock, on_lost=lost.append).acquire()
        fence = hold.fence
        getattr(self.cluster.nodes[0], harm)()
        self.until_moved(holder, hold)
        self.assertRaises(NotAcquired, self.client(3).lock(lock, wait=1).acquire)
        self.assertEqual((hold.fence, hold.is_valid(), lost), (fence, True, []))
        hold.release()
        with self.client(3).lock(lock, wait=PATIENCE) as later:
            self.assertGreater(later.fence, fence)

    def test_a_shared_hold_survives_the_death_of_its_node(self):
        lock, lost = "shared through kill", []
        reader = self.client(1)
        hold = reader.lock(lock, mode="shared", on_lost=lost.append).acquire()
        fence = hold.fence
        beside = self.client(2).lock(lock, mode="shared").acquire()
        self.cluster.nodes[0].kill()
        self.until_moved(reader, hold)
        self.assertEqual((hold.fence, hold.mode, hold.is_valid(), lost), (fence, "shared", True, []))
        self.assertRaises(NotAcquired, self.client(3).lock(lock, wait=1).acquire)
        with self.client(3).lock(lock, wait=PATIENCE, mode="shared") as newcomer:
            self.assertGreater(newcomer.fence, beside.fence)
        beside.release()
        hold.upgrade(wait=PATIENCE)
        self.assertGreater(hold.fence, newcomer.fence)
        hold.release()
        with self.client(3).lock(lock, wait=PATIENCE) as later:
            self.assertGreater(later.fence, hold.fence)

    def waits_through(self, harm):
        """Does harm to the node of a waiter, which is granted the lock in the end."""
        lock = f"waited for through {harm}"
        holder, waiter = self.client(3), self.client(2)
        hold, granted = holder.lock(lock).acquire(), []
        thread = threading.Thread(target=lambda: granted.append(waiter.lock(lock).acquire()))
        thread.start()
        until(lambda: sum(it.waiters for it in holder.locks(lock)) == 1, "the waiter waits")
        getattr(self.cluster.nodes[1], harm)()
        self.until_moved(waiter)
        time.sleep(0.5)
        self.assertEqual(granted, [])
        hold.release()
        thread.join(PATIENCE)
        [later] = granted
        self.assertGreater(later.fence, hold.fence)
        later.release()

    def test_a_hold_survives_the_death_of_its_node(self):
        self.holds_through("kill")

    def test_a_hold_survives_a_node_that_stops_answering(self):
        self.holds_through("pause")

    def test_a_hold_survives_a_node_that_leaves(self):
        self.holds_through("leave")

    def test_a_waiter_survives_the_death_of_its_node(self):
        self.waits_through("kill")

    def test_a_waiter_survives_a_node_that_stops_answering(self):
        self.waits_through("pause")

    def test_a_waiter_survives_a_node_that_leaves(self):
        self.waits_through("leave")

    def test_a_hold_with_one_endpoint_is_lost_with_its_node_and_its_holder_told(self):
        told = threading.Event()
        lost = []

        def on_lost(hold):
            lost.append(hold)
            told.set()

        holder = self.client(1, only=True)
        with self.assertRaises(Lost):
            with holder.lock("lost", on_lost=on_lost) as hold:
                self.cluster.nodes[0].pause()
                # Whoever is granted it next finds that the former holder does not believe in it any more.
                with self.client(2).lock("lost", wait=PATIENCE) as later:
                    self.assertFalse(hold.is_valid())
                    self.assertEqual(hold.valid_for(), 0.0)
                    self.assertGreater(later.fence, hold.fence)
                self.assertTrue(told.wait(PATIENCE))
                self.assertEqual((lost[0].name, lost[0].fence), ("lost", hold.fence))
                self.cluster.nodes[0].resume()
                time.sleep(0.5)
                hold.check()
        # The client opens another session.
        with holder.lock("lost", wait=PATIENCE) as hold:
            hold.check()

    def test_a_body_that_does_not_look_learns_of_the_loss_at_its_end(self):
        holder = self.client(1, only=True)
        with self.assertRaises(Lost):
            with holder.lock("not looked") as hold:
                self.cluster.nodes[0].kill()
                until(lambda: not hold.is_valid(), "the hold ends")
        self.cluster.nodes[0].restart()

    def test_a_wait_ends_with_the_session_and_the_client_goes_on(self):
        blocker, waiter = self.client(3), self.client(1, only=True)
        with blocker.lock("over"):
            raised = []
            thread = threading.Thread(
                target=lambda: raised.append(self.assertRaises(SessionOver, waiter.lock("over").acquire))
            )
            thread.start()
            until(lambda: sum(it.waiters for it in blocker.locks("over")) == 1, "the waiter waits")
            self.cluster.nodes[0].kill()
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive())
        self.cluster.nodes[0].restart()
        with waiter.lock("over", wait=PATIENCE):
            pass

    def test_asyncio_callbacks_run_in_the_event_loop_of_their_task(self):
        async def work():
            loop, told = asyncio.get_running_loop(), asyncio.Event()

            async def on_lost(hold):
                self.assertIs(asyncio.get_running_loop(), loop)
                told.set()

            async with AsyncSkeptron(self.cluster.endpoints(1)[:1], ttl=TTL, discovery=False) as client:
                hold = await client.lock("told", on_lost=on_lost).acquire()
                self.cluster.nodes[0].pause()
                await asyncio.wait_for(told.wait(), PATIENCE)
                self.assertRaises(Lost, hold.check)
                self.cluster.nodes[0].resume()

        asyncio.run(work())

    def test_a_counter_loses_nothing_while_nodes_die_and_stop(self):
        """Whoever has lost the lock writes nothing; whoever believes in it is alone."""
        counter = {"value": 0, "added": 0, "fences": []}
        is_over, failures = threading.Event(), []

        def count(number):
            client = self.client(1 + number % 3, ttl=10)
            while not is_over.is_set():
                try:
                    with client.lock("counter", wait=5) as hold:
                        hold.check()
                        value = counter["value"]
                        counter["fences"].append(hold.fence)
                        time.sleep(0.002)
                        if hold.valid_for() > 1:
                            counter["value"] = value + 1
                            counter["added"] += 1
                except SkeptronError:
                    pass
                except BaseException as error:
                    failures.append(error)
                    raise

        threads = [threading.Thread(target=count, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        first, second, third = self.cluster.nodes
        for victim, harm, mend in [(first, "kill", "restart"), (second, "pause", "resume"),
                                   (third, "leave", "restart")]:
            before = counter["added"]
            until(lambda: counter["added"] > before + 20, "the counter rises")
            getattr(victim, harm)()
            before = counter["added"]
            until(lambda: counter["added"] > before + 20, f"the counter rises after {harm}")
            if harm == "leave":
                victim.process.wait(PATIENCE)
            getattr(victim, mend)()
        is_over.set()
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual((failures, [thread for thread in threads if thread.is_alive()]), ([], []))
        self.assertEqual(counter["value"], counter["added"])
        self.assertEqual(counter["fences"], sorted(set(counter["fences"])))


if __name__ == "__main__":
    unittest.main()
