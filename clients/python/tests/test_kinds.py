"""Locks that are held beside others, several at once, and again by their owner; at real nodes."""

import asyncio
import contextlib
import threading
import time
import unittest

from skeptron import AsyncSkeptron, Lost, NotAcquired, UpgradeDenied
from tests.cluster import PATIENCE, program, until
from tests.test_nodes import WithCluster


class Thread(threading.Thread):
    """Does something, and has its result or its error."""

    def __init__(self, work):
        super().__init__(daemon=True)
        self._work, self._result, self._error = work, None, None
        self.start()

    def run(self):
        try:
            self._result = self._work()
        except BaseException as error:
            self._error = error

    def result(self):
        self.join(PATIENCE)
        assert not self.is_alive(), "it is stuck"
        if self._error is not None:
            raise self._error
        return self._result


class Sharing(WithCluster):
    def waiters(self, lock):
        return sum(it.waiters for it in self.client().locks(lock))

    def test_readers_hold_together_at_all_nodes(self):
        clients = [self.client(number) for number in (1, 2, 3, 1)]
        holds = [client.lock("read", wait=PATIENCE, mode="shared").acquire() for client in clients]
        # The same session may hold it twice.
        holds.append(clients[0].lock("read", wait=PATIENCE, mode="shared").acquire())
        fences = [hold.fence for hold in holds]
        self.assertEqual(fences, sorted(set(fences)))
        self.assertEqual({hold.mode for hold in holds}, {"shared"})
        [info] = clients[0].locks("read")
        self.assertEqual((info.inside, info.holder.mode), (5, "shared"))
        self.assertIsNone(clients[1].try_lock("read"))
        for hold in holds:
            hold.check()
            hold.release()
        with clients[1].lock("read", wait=PATIENCE) as writer:
            self.assertGreater(writer.fence, max(fences))
            self.assertEqual(writer.mode, "exclusive")

    def test_a_writer_that_waits_keeps_newcomers_out(self):
        reader, other = self.client(1), self.client(3)
        hold = reader.lock("newcomers", mode="shared").acquire()
        writing = Thread(self.client(2).lock("newcomers").acquire)
        until(lambda: self.waiters("newcomers") == 1, "the writer waits")
        with self.assertRaises(NotAcquired):
            other.lock("newcomers", wait=1, mode="shared").acquire()
        hold.check()
        hold.release()
        with writing.result() as writer:
            self.assertGreater(writer.fence, hold.fence)
            self.assertIsNone(other.try_lock("newcomers", mode="shared"))
        other.lock("newcomers", wait=PATIENCE, mode="shared").acquire().release()

    def test_a_semaphore_has_so_many_permits(self):
        one, two, three = (self.client(number).lock("permits", wait=1, mode="permits:2") for number in (1, 2, 3))
        first, second = one.acquire(), two.acquire()
        self.assertEqual((first.mode, second.mode), ("permits:2", "permits:2"))
        with self.assertRaises(NotAcquired) as raised:
            three.acquire()
        self.assertIn(int(raised.exception.holder["fence"]), (first.fence, second.fence))
        first.release()
        third = self.client(3).lock("permits", wait=PATIENCE, mode="permits:2").acquire()
        self.assertGreater(third.fence, second.fence)
        second.check()
        third.release()
        second.release()

    def test_no_more_hold_a_semaphore_than_it_has_permits(self):
        clients, inside, most = [self.client(number) for number in (1, 2, 3)], [], []

        def work(number):
            for _ in range(3):
                with clients[number % 3].lock("storm", wait=PATIENCE, mode="permits:3") as hold:
                    inside.append(number)
                    most.append(len(inside))
                    time.sleep(0.005)
                    hold.check()
                    inside.remove(number)

        for thread in [Thread(lambda number=number: work(number)) for number in range(12)]:
            thread.result()
        self.assertEqual(len(most), 36)
        self.assertLessEqual(max(most), 3)

    def test_a_holder_that_is_killed_frees_its_permit_after_its_ttl(self):
        source = ("import sys, skeptron\n"
                  "hold = skeptron.Skeptron(sys.argv[1].split(','), ttl=2).lock('killed', mode='permits:2').acquire()\n"
                  "print(hold.fence); input()")
        process = program(source, ",".join(self.cluster.endpoints()))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertTrue(process.stdout.readline().strip().isdigit())
        with self.client(2).lock("killed", mode="permits:2") as beside:
            self.assertIsNone(self.client(3).try_lock("killed", mode="permits:2"))
            process.kill()
            with self.client(3).lock("killed", wait=PATIENCE, mode="permits:2"):
                beside.check()

    def test_what_is_no_mode_says_what_is(self):
        client = self.client()
        for mode in ("readers", "permits:0", "permits:", "permits:-1", "", None, 3):
            with self.assertRaisesRegex(ValueError, "'exclusive', 'shared' or 'permits:K'"):
                client.lock("mode", mode=mode)
            with self.assertRaisesRegex(ValueError, "'exclusive', 'shared' or 'permits:K'"):
                client.lock_all(["mode"], mode=mode)


class Changing(WithCluster):
    def test_of_two_upgraders_one_is_denied_and_the_other_goes_on(self):
        holds = [self.client(number).lock("two", mode="shared").acquire() for number in (1, 2)]
        highest, denied = max(hold.fence for hold in holds), []

        def upgrade(hold):
            fence = hold.fence
            try:
                hold.upgrade()
            except UpgradeDenied:
                self.assertEqual((hold.fence, hold.mode, hold.is_valid()), (fence, "shared", True))
                denied.append(hold)
                hold.release()

        for thread in [Thread(lambda hold=hold: upgrade(hold)) for hold in holds]:
            thread.result()
        self.assertEqual(len(denied), 1)
        [hold] = [hold for hold in holds if hold not in denied]
        hold.check()
        self.assertEqual(hold.mode, "exclusive")
        self.assertGreater(hold.fence, highest)
        self.assertIsNone(self.client(3).try_lock("two", mode="shared"))
        hold.upgrade()  # Nothing is left to be done.
        hold.release()
        self.client(3).lock("two", wait=PATIENCE).acquire().release()

    def test_an_upgrade_that_is_not_granted_in_time_leaves_the_hold_as_it_was(self):
        hold, other = (self.client(number).lock("in time", mode="shared").acquire() for number in (1, 2))
        fence = hold.fence
        with self.assertRaisesRegex(NotAcquired, "not upgraded"):
            hold.upgrade(wait=0.5)
        with self.assertRaises(ValueError):
            hold.upgrade(wait=-1)
        self.assertEqual((hold.fence, hold.mode, hold.is_valid()), (fence, "shared", True))
        # Newcomers are let in again.
        self.client(3).lock("in time", wait=PATIENCE, mode="shared").acquire().release()
        other.release()
        hold.upgrade(wait=PATIENCE)
        self.assertGreater(hold.fence, fence)
        hold.release()
        self.assertFalse(hold.is_valid())
        self.client(3).lock("in time", wait=PATIENCE).acquire().release()

    def test_a_hold_that_is_released_while_it_upgrades_is_released(self):
        hold, other = (self.client(number).lock("released", mode="shared").acquire() for number in (1, 2))
        upgrading = Thread(hold.upgrade)
        # Listings do not count whoever waits for an upgrade.
        until(lambda: hold._grant.upgrading is not None, "it asks for the upgrade")
        time.sleep(0.5)
        with self.assertRaises(RuntimeError):
            hold.upgrade()
        hold.release()
        self.assertRaises(Lost, upgrading.result)
        other.check()
        other.upgrade(wait=PATIENCE)
        other.release()

    def test_a_downgrade_lets_others_in_and_keeps_the_fence(self):
        hold = self.client(1).lock("down").acquire()
        fence = hold.fence
        waiting = Thread(self.client(2).lock("down", mode="shared").acquire)
        until(lambda: sum(it.waiters for it in self.client().locks("down")) == 1, "a reader waits")
        hold.downgrade()
        self.assertEqual((hold.fence, hold.mode), (fence, "shared"))
        with waiting.result() as reader:
            hold.check()
            self.assertGreater(reader.fence, fence)
            self.assertIsNone(self.client(3).try_lock("down"))
        hold.downgrade("shared")
        for mode in ("exclusive", "permits:3"):
            with self.assertRaisesRegex(ValueError, "held as shared"):
                hold.downgrade(mode)
        hold.release()
        self.assertRaises(Lost, hold.downgrade)
        self.client(3).lock("down", wait=PATIENCE).acquire().release()

    def test_a_leader_is_alone(self):
        with self.client().campaign("leader", value="me") as hold:
            self.assertEqual(hold.mode, "exclusive")
            with self.assertRaisesRegex(ValueError, "campaigned"):
                hold.downgrade()
            hold.proclaim("still me")

    def test_to_and_fro_the_fence_rises(self):
        fences = []
        with self.client(1).lock("fro", mode="shared") as hold:
            for _ in range(5):
                fences.append(hold.fence)
                hold.upgrade(wait=PATIENCE)
                fences.append(hold.fence)
                hold.downgrade("permits:5")
                self.assertEqual((hold.fence, hold.mode), (fences.pop(), "permits:5"))
            session = next(iter(hold._client._inner._sessions.values()))
            self.assertEqual(list(session.standing.held), [("fro", hold.fence)])
        self.assertEqual(fences, sorted(set(fences)))
        self.assertEqual(session.standing.held, {})


class Several(WithCluster):
    def test_all_are_held_in_the_body_and_released_after(self):
        client = self.client()
        with client.lock_all(["b", "a", "b"], wait=PATIENCE) as holds:
            self.assertEqual(list(holds), ["a", "b"])
            self.assertEqual(holds.fence("a"), holds["a"].fence)
            self.assertTrue(holds.is_valid() and 0 < holds.valid_for() <= 60)
            holds.check()
            self.assertIsNone(self.client(2).try_lock("a"))
            self.assertIsNone(self.client(2).try_lock("b"))
        self.assertRaises(Lost, holds.check)
        self.assertRaises(KeyError, holds.fence, "c")
        self.client(2).lock_all(["a", "b"], wait=PATIENCE).acquire().release()
        for names in ("ab", [], ()):
            self.assertRaises(ValueError, client.lock_all, names)

    def test_all_or_none(self):
        with self.client(1).lock("all/b"):
            client, began = self.client(2), time.monotonic()
            with self.assertRaises(NotAcquired):
                client.lock_all(["all/c", "all/b", "all/a"], wait=1).acquire()
            self.assertLess(time.monotonic() - began, PATIENCE)
            for name in ("all/a", "all/c"):
                self.client(3).lock(name, wait=PATIENCE).acquire().release()
        [session] = client._inner._sessions.values()
        self.assertEqual(session.standing.held, {})

    def test_readers_of_several_locks_meet(self):
        with self.client(1).lock_all(["m/a", "m/b"], wait=PATIENCE, mode="shared"):
            with self.client(2).lock_all(["m/b", "m/a"], wait=PATIENCE, mode="shared") as holds:
                self.assertEqual({hold.mode for hold in holds.values()}, {"shared"})

    def test_opposite_orders_do_not_wait_for_each_other(self):
        clients, inside = [self.client(1), self.client(2)], []

        def work(client, names):
            for _ in range(15):
                with client.lock_all(names) as holds:
                    inside.append(names)
                    holds.check()
                    self.assertEqual(len(inside), 1)
                    inside.pop()

        threads = [Thread(lambda: work(clients[0], ["left", "right"])),
                   Thread(lambda: work(clients[1], ["right", "left"]))]
        for thread in threads:
            thread.result()

    def test_one_that_is_lost_is_told_and_the_others_are_released(self):
        client = self.client()
        with self.assertRaises(Lost):
            with client.lock_all(["l/a", "l/b", "l/c"], wait=PATIENCE) as holds:
                [session] = client._inner._sessions.values()
                session.standing.lost.add(("l/b", holds.fence("l/b")))
                self.assertFalse(holds.is_valid())
        for name in ("l/a", "l/c"):
            self.client(2).lock(name, wait=PATIENCE).acquire().release()


class Again(WithCluster):
    def test_a_thread_gets_what_it_holds_already_until_the_outermost_is_released(self):
        client, other = self.client(1), self.client(2)
        again = client.lock("again", wait=0, reentrant=True)
        with client.lock("again", wait=PATIENCE, reentrant=True) as outer:
            with again as inner, again as innermost:
                self.assertEqual((inner.fence, innermost.fence), (outer.fence, outer.fence))
                self.assertIsNone(other.try_lock("again"))
            # Nobody else is: not by the same client, and not without saying so.
            self.assertRaises(NotAcquired, Thread(again.acquire).result)
            self.assertIsNone(client.try_lock("again"))
            inner.release()
            outer.check()
            self.assertIsNone(other.try_lock("again", reentrant=True))
        self.assertFalse(outer.is_valid())
        with other.lock("again", wait=PATIENCE) as later:
            self.assertGreater(later.fence, outer.fence)
            self.assertRaises(NotAcquired, again.acquire)

    def test_it_is_held_until_as_many_are_released_as_were_acquired(self):
        client, other = self.client(1), self.client(2)
        lock = client.lock("by hand", wait=PATIENCE, reentrant=True)
        outer, inner = lock.acquire(), lock.acquire()
        outer.release()
        outer.release()
        inner.check()
        self.assertIsNone(other.try_lock("by hand"))
        inner.release()
        other.lock("by hand", wait=PATIENCE).acquire().release()
        # It begins anew.
        lock.acquire().release()
        self.assertEqual(client._here.own and [g for g in client._here.own.values() if not g.is_released], [])

    def test_a_weaker_mode_is_included_and_a_stronger_one_is_refused(self):
        client = self.client()
        with client.lock("modes", mode="permits:3", reentrant=True) as outer:
            for mode in ("permits:3", "permits:4", "shared"):
                with client.lock("modes", mode=mode, reentrant=True) as inner:
                    self.assertEqual((inner.fence, inner.mode), (outer.fence, "permits:3"))
            for mode in ("permits:2", "exclusive"):
                with self.assertRaisesRegex(RuntimeError, "upgrade"):
                    client.lock("modes", mode=mode, reentrant=True).acquire()
            outer.upgrade(wait=PATIENCE)
            with client.lock("modes", reentrant=True) as inner:
                self.assertEqual(inner.fence, outer.fence)

    def test_what_was_lost_is_not_had_again(self):
        client, lost = self.client(), []
        lock = client.lock("lost", wait=PATIENCE, reentrant=True, on_lost=lost.append)
        outer = lock.acquire()
        [session] = client._inner._sessions.values()
        inner = lock.acquire()
        session.standing.lost.add(("lost", outer.fence))
        self.assertRaises(Lost, inner.release)
        self.assertRaises(Lost, outer.release)

    def test_a_task_gets_what_it_holds_already(self):
        async def work():
            async with AsyncSkeptron(self.cluster.endpoints(), ttl=60) as client:
                again = client.lock("task", wait=0, reentrant=True)
                async with client.lock("task", reentrant=True) as outer:
                    async with again as inner, again:
                        self.assertEqual(inner.fence, outer.fence)
                    with self.assertRaises(NotAcquired):
                        await asyncio.ensure_future(again.acquire())
                    outer.check()
                async with client.lock("task", wait=PATIENCE) as later:
                    self.assertGreater(later.fence, outer.fence)

        asyncio.run(asyncio.wait_for(work(), PATIENCE))


class Asynchronous(WithCluster):
    def run_async(self, work):
        async def bounded():
            async with AsyncSkeptron(self.cluster.endpoints(1), ttl=60) as one:
                async with AsyncSkeptron(self.cluster.endpoints(2), ttl=60) as two:
                    await asyncio.wait_for(work(one, two), PATIENCE)

        asyncio.run(bounded())

    def test_the_same_as_with_threads(self):
        async def work(one, two):
            async with one.lock("async", wait=PATIENCE, mode="shared") as hold:
                fence = hold.fence
                async with two.lock("async", wait=PATIENCE, mode="shared") as beside:
                    with self.assertRaises(NotAcquired):
                        await hold.upgrade(wait=0.3)
                    beside.check()
                await hold.upgrade()
                self.assertGreater(hold.fence, fence)
                await hold.downgrade("permits:2")
                async with await two.try_lock("async", mode="shared") as beside:
                    self.assertEqual((hold.mode, beside.mode), ("permits:2", "shared"))
            async with two.lock_all(["async", "other"], wait=PATIENCE) as holds:
                holds.check()
                self.assertEqual(list(holds), ["async", "other"])
            self.assertFalse(holds.is_valid())

        self.run_async(work)

    def test_a_cancelled_upgrade_has_released_the_lock(self):
        async def work(one, two):
            beside = await two.lock("cancelled", wait=PATIENCE, mode="shared").acquire()
            for delay in range(12):
                hold = await one.lock("cancelled", wait=PATIENCE, mode="shared").acquire()
                if delay % 3 == 0:
                    # Sometimes it is granted meanwhile.
                    await beside.release()
                task = asyncio.ensure_future(hold.upgrade())
                await asyncio.sleep(delay / 200)
                if task.cancel():
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                    while hold.is_valid():
                        await asyncio.sleep(0.01)
                else:
                    await task
                await hold.release()
                if delay % 3 == 0:
                    beside = await two.lock("cancelled", wait=PATIENCE, mode="shared").acquire()
                else:
                    # Nobody is beside it, once the node has heard that the other's upgrade was cancelled.
                    while beside.mode == "shared":
                        with contextlib.suppress(UpgradeDenied):
                            await beside.upgrade(wait=PATIENCE)
                    await beside.downgrade()
            await beside.release()
            async with one.lock("cancelled", wait=PATIENCE):
                pass
            for client in (one, two):
                self.assertEqual(list(client._inner._sessions.values())[0].standing.held, {})

        self.run_async(work)


if __name__ == "__main__":
    unittest.main()
