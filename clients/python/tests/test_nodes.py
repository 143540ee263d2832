"""The client against real nodes that work."""

import asyncio
import logging
import threading
import time
import unittest

from skeptron import AsyncSkeptron, Lost, NotAcquired, Refused, Skeptron, Unreachable
from tests.cluster import PATIENCE, Cluster, program, until

THREADS, LOCKS, TASKS = 200, 20, 500


class WithCluster(unittest.TestCase):
    """Shares a cluster that nobody harms, with leases that a busy machine does not lose."""

    @classmethod
    def setUpClass(cls):
        logging.getLogger("skeptron").setLevel(logging.ERROR)
        cls.cluster = Cluster(lease="30s")
        cls.addClassCleanup(cls.cluster.stop)

    def client(self, *first, **more):
        client = Skeptron(self.cluster.endpoints(*first), ttl=more.pop("ttl", 60), **more)
        self.addCleanup(client.close)
        return client


class Locking(WithCluster):
    def test_a_lock_is_held_in_the_body_and_released_after(self):
        client = self.client(owner="tester")
        with client.lock("deploy") as hold:
            hold.check()
            self.assertTrue(hold.is_valid())
            self.assertGreater(hold.valid_for(), 1)
            [info] = client.locks("deploy")
            self.assertEqual((info.name, info.holder.owner, info.holder.fence), ("deploy", "tester", hold.fence))
        self.assertFalse(hold.is_valid())
        self.assertRaises(Lost, hold.check)
        self.assertEqual([lock for lock in client.locks("deploy") if lock.holder], [])

    def test_fences_rise_from_holder_to_holder_at_different_nodes(self):
        fences = []
        for number in (1, 2, 3, 1):
            with self.client(number).lock("rising") as hold:
                fences.append(hold.fence)
        self.assertEqual(fences, sorted(set(fences)))

    def test_what_is_held_is_not_acquired_by_others(self):
        one, other = self.client(1), self.client(2)
        with one.lock("taken"):
            self.assertIsNone(other.try_lock("taken"))
            with self.assertRaises(NotAcquired) as raised:
                other.lock("taken", wait=0.3).acquire()
            self.assertEqual(raised.exception.lock, "taken")
        with other.try_lock("taken") as hold:
            self.assertTrue(hold.is_valid())

    def test_threads_that_share_a_client_exclude_each_other(self):
        client = self.client()
        shared = client.lock("shared", wait=0)
        with shared:
            with self.assertRaises(RuntimeError):
                shared.__enter__()
            raised = []
            thread = threading.Thread(target=lambda: raised.append(self.assertRaises(NotAcquired, shared.acquire)))
            thread.start()
            thread.join(PATIENCE)
            self.assertEqual(len(raised), 1)
        with shared:
            pass

    def test_an_error_in_the_body_is_raised_and_the_lock_released(self):
        client = self.client()
        with self.assertRaises(ZeroDivisionError):
            with client.lock("error"):
                1 / 0
        with client.lock("error", wait=10):
            pass

    def test_holds_may_be_released_by_hand_and_twice(self):
        client = self.client()
        hold = client.lock("by hand").acquire()
        hold.release()
        hold.release()
        client.lock("by hand", wait=10).acquire().release()

    def test_closing_the_client_releases(self):
        client = self.client()
        hold = client.lock("closing").acquire()
        client.close()
        client.close()
        self.assertFalse(hold.is_valid())
        self.assertRaises(ValueError, client.lock("closing").acquire)
        self.client(2).lock("closing", wait=30).acquire().release()

    def test_dropping_the_client_releases(self):
        with Skeptron(self.cluster.endpoints()).lock("dropped") as hold:
            fence = hold.fence
        Skeptron(self.cluster.endpoints()).lock("dropped").acquire()
        with self.client(2).lock("dropped", wait=PATIENCE) as hold:
            self.assertGreater(hold.fence, fence)

    def test_each_ttl_has_its_session(self):
        client = self.client()
        with client.lock("a", ttl=20), client.lock("b", ttl=40):
            self.assertEqual(len(client._inner._sessions), 2)
        for ttl in (0, -1, "x", float("inf")):
            self.assertRaises(ValueError, client.lock, "a", ttl=ttl)
        self.assertRaises(ValueError, client.lock, "a", wait=-1)

    def test_what_the_node_refuses_says_why_and_what_to_do(self):
        with self.assertRaises(Refused) as raised:
            self.client().lock("x" * 300).acquire()
        refused = raised.exception
        self.assertEqual((refused.status, refused.code), (400, "invalid"))
        self.assertTrue(refused.remedy)
        self.assertRaises(Refused, self.client(ttl=0.001).lock("x").acquire)

    def test_names_are_any_text(self):
        client = self.client()
        name = "bestellung/ü ?&#%"
        with client.lock(name):
            self.assertEqual([lock.name for lock in client.locks(name)], [name])

    def test_a_node_that_does_not_answer_is_unreachable(self):
        client = Skeptron(["http://127.0.0.1:1", "unix:/nowhere"])
        with self.assertRaisesRegex(Unreachable, "127.0.0.1:1.*nowhere"):
            client.lock("x").acquire()
        # Another endpoint will do.
        with Skeptron(["http://127.0.0.1:1", *self.cluster.endpoints()]).lock("other endpoint"):
            pass


class Processes(WithCluster):
    HOLD = "import sys, skeptron; c = skeptron.Skeptron(sys.argv[1].split(','), ttl=float(sys.argv[3])); " \
           "hold = c.lock(sys.argv[2]).acquire(); print(hold.fence); "

    def start(self, then, lock, ttl=60):
        process = program(self.HOLD + then, ",".join(self.cluster.endpoints()), lock, str(ttl))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        fence = process.stdout.readline()
        self.assertTrue(fence.strip().isdigit(), fence or process.stderr.read())
        return process

    def said(self, process):
        """What it says until it ends. Not by `communicate`, which forgets what `readline` has read ahead."""
        said, errors = process.stdout.read(), process.stderr.read()
        process.wait(PATIENCE)
        return said, errors

    def test_a_process_that_ends_releases(self):
        process = self.start("pass", "ends")
        self.client().lock("ends", wait=30).acquire().release()
        _, errors = self.said(process)
        self.assertEqual((process.returncode, errors), (0, ""))

    def test_what_a_killed_process_held_is_released_after_its_ttl(self):
        process = self.start("input()", "killed", ttl=2)
        process.kill()
        self.client().lock("killed", wait=PATIENCE).acquire().release()

    def test_a_process_that_slept_for_longer_than_its_ttl_knows_when_it_wakes(self):
        # It stops while it is busy, so that only its own clock can tell it.
        process = self.start(
            "import os, signal; input(); hold.check(); os.kill(os.getpid(), signal.SIGSTOP)\n"
            "print(hold.is_valid(), hold.valid_for())\n"
            "try: hold.check()\n"
            "except skeptron.Lost as lost: print(lost)", "slept", ttl=2)
        process.stdin.write("\n")
        process.stdin.flush()
        # Somebody else is granted it meanwhile.
        with self.client().lock("slept", wait=PATIENCE):
            process.send_signal(18)
            said, errors = self.said(process)
        self.assertRegex(said, r"^False 0.0\nthe lock `slept` with fence \d+ is lost", errors)

    def test_an_interrupted_wait_is_withdrawn(self):
        with self.client().lock("interrupted"):
            source = ("import sys, signal, threading, skeptron\n"
                      "c = skeptron.Skeptron(sys.argv[1].split(','))\n"
                      "signal.signal(signal.SIGUSR1, signal.default_int_handler)\n"
                      "try: c.lock('interrupted').acquire()\n"
                      "except KeyboardInterrupt: print('interrupted')\n"
                      "input()\n")
            process = program(source, ",".join(self.cluster.endpoints()))
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
            waiters = lambda: sum(lock.waiters for lock in self.client().locks("interrupted"))
            until(lambda: waiters() == 1, "the process waits")
            process.send_signal(10)
            self.assertEqual(process.stdout.readline(), "interrupted\n")
            until(lambda: waiters() == 0, "the wait is withdrawn")

    def test_a_child_of_a_fork_does_not_hold_what_its_parent_holds(self):
        process = self.start(
            "import os\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    print('child', hold.is_valid())\n"
            "    with c.lock('of the child') as own: print(own.is_valid())\n"
            "    del c, hold; sys.exit(3)\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), hold.is_valid(), hold.fence)", "forked")
        said, errors = self.said(process)
        self.assertRegex(said, r"^child False\nTrue\n3 True \d+\n$", errors)


class Counting(WithCluster):
    def test_many_threads_lose_no_update(self):
        clients = [self.client(1 + number % 3) for number in range(6)]
        counters, fences = [0] * LOCKS, [[] for _ in range(LOCKS)]
        failures = []

        def count(number):
            try:
                for step in range(3):
                    place = (number + step * 7) % LOCKS
                    with clients[number % 6].lock(f"count/{place}") as hold:
                        value = counters[place]
                        time.sleep(0.001)
                        hold.check()
                        counters[place] = value + 1
                        fences[place].append(hold.fence)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=count, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual(failures, [])
        self.assertEqual(sum(counters), THREADS * 3)
        for rising in fences:
            self.assertEqual(rising, sorted(set(rising)))

    def test_many_tasks_lose_no_update(self):
        async def count_all():
            counters = [0] * LOCKS

            async def count(client, number):
                async with client.lock(f"tasks/{number % LOCKS}") as hold:
                    value = counters[number % LOCKS]
                    await asyncio.sleep(0.001)
                    hold.check()
                    counters[number % LOCKS] = value + 1

            clients = [AsyncSkeptron(self.cluster.endpoints(first), ttl=60) for first in (1, 2, 3)]
            await asyncio.gather(*(count(clients[number % 3], number) for number in range(TASKS)))
            for client in clients:
                await client.close()
            return sum(counters)

        self.assertEqual(asyncio.run(asyncio.wait_for(count_all(), PATIENCE)), TASKS)


class Asynchronous(WithCluster):
    def run_async(self, work):
        async def bounded():
            async with AsyncSkeptron(self.cluster.endpoints(), ttl=60) as client:
                return await asyncio.wait_for(work(client), PATIENCE)

        return asyncio.run(bounded())

    def test_the_same_as_with_threads(self):
        async def work(client):
            async with client.lock("async", wait=30) as hold:
                hold.check()
                self.assertEqual([lock.holder.fence for lock in await client.locks("async")], [hold.fence])
                self.assertIsNone(await client.try_lock("async"))
                with self.assertRaises(NotAcquired):
                    await client.lock("async", wait=0.2).acquire()
            self.assertRaises(Lost, hold.check)
            async with await client.try_lock("async") as hold:
                self.assertTrue(hold.is_valid())

        self.run_async(work)

    def test_a_cancelled_acquire_leaves_nothing_behind(self):
        async def work(client):
            async with client.lock("cancelled"):
                waiting = asyncio.ensure_future(client.lock("cancelled").acquire())
                while sum(lock.waiters for lock in await client.locks("cancelled")) == 0:
                    await asyncio.sleep(0.02)
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
                while sum(lock.waiters for lock in await client.locks("cancelled")) > 0:
                    await asyncio.sleep(0.02)
            # Cancelled at any moment, also just when it is granted.
            for delay in range(40):
                task = asyncio.ensure_future(client.lock("cancelled").acquire())
                await asyncio.sleep(delay / 4000)
                if task.cancel():
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                else:
                    await (await task).release()
            async with client.lock("cancelled", wait=30):
                pass
            self.assertEqual(list(client._inner._sessions.values())[0].standing.held, {})

        self.run_async(work)

    def test_a_busy_event_loop_does_not_cost_the_session(self):
        async def work(client):
            async with client.lock("busy", ttl=2) as hold:
                time.sleep(4)
                hold.check()

        self.run_async(work)


if __name__ == "__main__":
    unittest.main()
