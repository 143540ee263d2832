"""The client at nodes that say whatever the test likes."""

import asyncio
import json
import logging
import socket
import threading
import time
import unittest

from _skeptron.background import Call
from _skeptron.client import Answered
from _skeptron.endpoints import parse
from skeptron import (
    AsyncSkeptron, Lost, NotAcquired, Refused, Skeptron, Unavailable, Unreachable, UpgradeDenied)
from tests.cluster import PATIENCE, until

OPENED = {"session": "5e5510", "ttl_ms": 10_000, "valid_ms": 8000}
ALIVE = {"valid_ms": 8000, "pending": False, "lost": []}
HELD = {"lock": "a", "fence": "7"}
RELEASED = {"lock": "a", "released": True}


def http(status, body, head=""):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status} X\r\n{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


def refused(status, code, **more):
    return http(status, {"code": code, "error": "it is so", "remedy": "do that", **more})


class FakeNode:
    """Answers each path with what was prepared: bytes that are sent as they are."""

    def __init__(self, **answers):
        usual = {"sessions": http(200, OPENED), "keep-alive": http(200, ALIVE), "acquire": http(200, HELD),
                 "release": http(200, RELEASED), "5e5510": http(200, {})}
        self.answers = {**usual, **answers}
        self.asked = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        self._connections = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection, connection.makefile("rb") as reader:
                while True:
                    first = reader.readline().decode().split()
                    fields = {}
                    for line in iter(reader.readline, b"\r\n"):
                        if not line:
                            return
                        name, _, value = line.decode().partition(":")
                        fields[name.lower()] = value.strip()
                    body = reader.read(int(fields.get("content-length", 0)))
                    path = first[1].partition("?")[0]
                    self.asked.append((first[0], path, fields, json.loads(body) if body else None))
                    answer = self.answers[path.rpartition("/")[2]]
                    if answer is None:
                        return
                    connection.sendall(answer)
        except OSError:
            pass

    def stop(self):
        # Closed only, it would still accept one.
        for listener in [self._listener] if self._listener.fileno() >= 0 else []:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for connection in self._connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        logging.getLogger("skeptron").setLevel(logging.CRITICAL)

    def node(self, **answers):
        node = FakeNode(**answers)
        self.addCleanup(node.stop)
        return node

    def client(self, *nodes, **more):
        client = Skeptron([node.endpoint for node in nodes], **more)
        self.addCleanup(client.close)
        return client

    def test_a_request_is_what_the_manual_says(self):
        node = self.node()
        client = self.client(node, token="t0ken", owner="me", ttl=10)
        with client.lock("a", wait=2.5) as hold:
            self.assertEqual(hold.fence, 7)
        (_, path, fields, opened), (_, _, _, acquire), (_, _, _, release) = node.asked[:3]
        self.assertEqual((path, opened), ("/v1/sessions", {"ttl_ms": 10_000, "owner": "me"}))
        self.assertEqual((fields["authorization"], fields["content-type"]), ("Bearer t0ken", "application/json"))
        self.assertEqual({**acquire, "wait_ms": 2500},
                         {"session": "5e5510", "lock": "a", "wait_ms": 2500, "request": 1})
        self.assertTrue(2000 < acquire["wait_ms"] <= 2500)
        self.assertEqual(release, {"session": "5e5510", "lock": "a", "fence": "7"})

    def test_what_is_not_http_and_json_is_no_answer(self):
        whole = http(200, OPENED)
        strange = [
            b"", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"SSH-2.0-x\r\n\r\n",
            http(200, b"[]"), http(200, b"{"), http(500, b"oops"), http(404, {"code": "x"}),
            whole[:-5], whole.replace(b"Content-Length: ", b"Content-Length: -"),
            http(200, OPENED, head="Content-Length: 1\r\n"),
            http(200, OPENED, head="Transfer-Encoding: gzip, chunked\r\n").replace(b"Content-Length", b"X"),
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", b"HTTP/1.1 200 OK\r\n" + b"a" * 100_000,
        ]
        for answer in strange:
            node = self.node(sessions=answer)
            # What does not come to an end ends here with its connection.
            timer = threading.Timer(0.3, node.stop)
            timer.start()
            with self.assertRaises(Unreachable, msg=answer[:60]):
                self.client(node).lock("a").acquire()
            timer.cancel()

    def test_chunks_are_read(self):
        text = json.dumps(OPENED).encode()
        chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (
            5, text[:5], len(text) - 5, text[5:])
        with self.client(self.node(sessions=chunked)).lock("a"):
            pass

    def test_a_kept_connection_that_was_closed_is_replaced(self):
        node = self.node(sessions=http(200, OPENED, head="Connection: close\r\n"))
        client = self.client(node)
        for _ in range(3):
            client.lock("a").acquire().release()
            for connection in node._connections:
                connection.close()
        self.assertEqual([path for _, path, _, _ in node.asked].count("/v1/sessions"), 1)

    def test_refusals_have_their_types(self):
        cases = [
            (refused(409, "not-acquired", why={"holder": {"owner": "bob", "fence": "3"}}), NotAcquired, "held by bob"),
            (refused(503, "unavailable"), Unavailable, "it is so; do that"),
            (refused(503, "full"), Refused, "it is so .full.; do that"),
            (refused(429, "quota"), Refused, "quota"),
        ]
        for answer, kind, text in cases:
            with self.assertRaisesRegex(kind, text):
                self.client(self.node(acquire=answer)).lock("a", wait=1).acquire()

    def bodies(self, node, path):
        return [{**body, "session": None} for _, asked, _, body in node.asked if asked == path]

    def test_an_upgrade_and_a_downgrade_are_what_the_manual_says(self):
        node = self.node(downgrade=http(200, {**HELD, "mode": "shared"}))
        with self.client(node).lock("a", mode="permits:3") as hold:
            node.answers["acquire"] = http(200, {"lock": "a", "fence": "9"})
            hold.upgrade(wait=2.5)
            self.assertEqual((hold.fence, hold.mode), (9, "exclusive"))
            hold.downgrade("shared")
            self.assertEqual((hold.fence, hold.mode), (9, "shared"))
        acquire, upgrade = self.bodies(node, "/v1/acquire")
        self.assertEqual(acquire, {"session": None, "lock": "a", "wait_ms": None, "request": 1, "mode": "permits:3"})
        self.assertEqual({**upgrade, "wait_ms": 2500},
                         {"session": None, "lock": "a", "wait_ms": 2500, "request": 2, "upgrade": "7"})
        self.assertEqual(self.bodies(node, "/v1/downgrade"),
                         [{"session": None, "lock": "a", "fence": "9", "mode": "shared"}])
        self.assertEqual(self.bodies(node, "/v1/release"), [{"session": None, "lock": "a", "fence": "9"}])

    def test_an_upgrade_that_is_refused_leaves_the_hold_unless_it_is_lost(self):
        cases = [
            (refused(409, "not-acquired", why={"holder": {"owner": "bob"}}), NotAcquired, "not upgraded.*bob", True),
            (refused(409, "upgrade-denied"), UpgradeDenied, "another holder upgrades", True),
            (refused(503, "unavailable"), Unavailable, "it is so", True),
            (refused(503, "full"), Refused, "full", True),
            (refused(409, "lost"), Lost, "it is so", False),
            (refused(409, "other-fence"), Lost, "it is so", False),
        ]
        for answer, kind, text, is_held in cases:
            node = self.node()
            hold = self.client(node).lock("a", mode="shared").acquire()
            node.answers["acquire"] = answer
            with self.assertRaisesRegex(kind, text):
                hold.upgrade(wait=1)
            self.assertEqual((hold.fence, hold.mode), (7, "shared"))
            self.assertEqual(hold.is_valid(), is_held)
            if is_held:
                hold.release()
                self.assertEqual(self.bodies(node, "/v1/release"), [{"session": None, "lock": "a", "fence": "7"}])

    def test_an_upgrade_that_nobody_waits_for_is_undone_first_and_then_the_lock_released(self):
        undone = [{"session": None, "lock": "a", "request": 2}, {"session": None, "lock": "a", "fence": "7"}]

        async def cancelled(hold):
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(hold.upgrade(), 0.3)

        async def overdue(hold):
            with self.assertRaisesRegex(Lost, "not answered"):
                await hold.upgrade(wait=0.1)

        async def work(end):
            node = self.node(sessions=http(200, {**OPENED, "ttl_ms": 300}))
            async with AsyncSkeptron(node.endpoint) as client:
                hold = await client.lock("a", mode="shared").acquire()
                node.answers["acquire"] = b""
                await end(hold)
                while len(self.bodies(node, "/v1/release")) < 2:
                    await asyncio.sleep(0.01)
                self.assertFalse(hold.is_valid())
                await hold.release()
                self.assertEqual(self.bodies(node, "/v1/release"), undone)

        for end in (cancelled, overdue):
            asyncio.run(asyncio.wait_for(work(end), PATIENCE))

    def test_an_upgrade_that_is_cancelled_before_it_begins_has_released_the_lock(self):
        node = self.node()

        async def work():
            async with AsyncSkeptron(node.endpoint) as client:
                hold = await client.lock("a", mode="shared").acquire()
                upgrading = hold.upgrade()
                asyncio.current_task().cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await upgrading
                while hold.is_valid():
                    await asyncio.sleep(0.01)

        asyncio.run(asyncio.wait_for(work(), PATIENCE))

    def test_a_downgrade_is_believed_first_and_told_until_it_is_answered(self):
        node = self.node(downgrade=None)
        hold = self.client(node).lock("a").acquire()
        telling = threading.Thread(target=hold.downgrade)
        telling.start()
        until(lambda: len(self.bodies(node, "/v1/downgrade")) > 1, "it is told again")
        [session] = hold._client._inner._sessions.values()
        self.assertEqual((hold.mode, session.standing.held[("a", 7)].mode), ("shared", "shared"))
        self.assertTrue(telling.is_alive())
        node.answers["downgrade"] = http(200, {**HELD, "mode": "shared"})
        telling.join(PATIENCE)
        hold.release()

    def test_a_cancelled_downgrade_is_told_nevertheless(self):
        node = self.node(downgrade=None)

        async def work():
            async with AsyncSkeptron(node.endpoint) as client:
                hold = await client.lock("a").acquire()
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(hold.downgrade(), 0.2)
                self.assertEqual((hold.mode, hold.is_valid()), ("shared", True))
                node.answers["downgrade"] = http(200, {**HELD, "mode": "shared"})
                told = len(self.bodies(node, "/v1/downgrade"))
                while len(self.bodies(node, "/v1/downgrade")) == told:
                    await asyncio.sleep(0.01)

        asyncio.run(asyncio.wait_for(work(), PATIENCE))

    def test_a_lock_that_its_owner_acquires_again_is_asked_for_and_released_once(self):
        node = self.node()
        lock = self.client(node).lock("a", reentrant=True)
        with lock as outer:
            with lock as inner:
                self.assertEqual((inner.fence, inner.is_valid()), (7, True))
            inner.release()
            outer.check()
            self.assertEqual(self.bodies(node, "/v1/release"), [])
        self.assertEqual((len(self.bodies(node, "/v1/acquire")), len(self.bodies(node, "/v1/release"))), (1, 1))

    def test_a_node_that_leaves_or_is_full_is_passed_over(self):
        away, well = self.node(sessions=refused(503, "leaving")), self.node()
        with self.client(away, well).lock("a"):
            pass
        with self.assertRaisesRegex(Unreachable, "it is so"):
            self.client(away).lock("a").acquire()

    def test_a_node_that_grants_nothing_more_is_left_at_once(self):
        life = lambda number: {"node": number, "life": f"{number:016x}", "epoch": 3}
        opened = {**OPENED, "ttl_ms": 60_000, "valid_ms": 50_000, "place": life(1)}
        leaving = self.node(sessions=http(200, opened), acquire=refused(503, "leaving"), moved=http(200, {}))
        other = self.node(move=http(200, {**ALIVE, "valid_ms": 50_000, "place": life(2)}))
        began = time.monotonic()
        with self.client(leaving, other, ttl=60).lock("a"):
            self.assertLess(time.monotonic() - began, 10, "the next sign of life was not waited for")
        self.assertIn("/v1/sessions/5e5510/move", [path for _, path, _, _ in other.asked])

    def test_a_node_that_does_not_answer_is_not_waited_for(self):
        hung, well = self.node(sessions=b""), self.node()
        began = time.monotonic()
        client = self.client(hung, well)
        with client.lock("a"):
            self.assertLess(time.monotonic() - began, 5)
        self.assertEqual([str(at) for at in client._inner._order()], [well.endpoint, hung.endpoint])

    def test_of_two_sessions_that_are_opened_one_is_ended(self):
        slow, well = self.node(), self.node()
        answered = Answered(parse(slow.endpoint), 0.0, OPENED)
        client = self.client(well)
        client.lock("a").acquire().release()

        async def discard():
            client._inner._end_unused(answered)

        Call(discard).result()
        until(lambda: ("DELETE", "/v1/sessions/5e5510") in [it[:2] for it in slow.asked], "it is ended")

    def test_a_session_that_promises_nothing_is_not_used(self):
        with self.assertRaisesRegex(Unreachable, "lease"):
            self.client(self.node(sessions=http(200, {**OPENED, "valid_ms": 0}))).lock("a").acquire()

    def test_a_loss_that_the_node_tells_reaches_the_holder(self):
        node = self.node(sessions=http(200, {**OPENED, "valid_ms": 400}))
        told = threading.Event()
        hold = self.client(node).lock("a", on_lost=lambda hold: told.set()).acquire()
        node.answers["keep-alive"] = http(200, {**ALIVE, "lost": [HELD]})
        self.assertTrue(told.wait(PATIENCE))
        self.assertFalse(hold.is_valid())

    def test_addresses_that_nodes_tell_are_further_endpoints(self):
        other = self.node()
        node = self.node(sessions=http(200, {**OPENED, "nodes": [other.endpoint, other.endpoint, "https://x:1", 7]}))
        client = self.client(node, token="t0ken")
        client.lock("a").acquire().release()
        self.assertEqual([str(at) for at in client._inner.endpoints()], [node.endpoint, other.endpoint])
        node.stop()
        session = next(iter(client._inner._sessions.values()))
        session.standing.over = "the test ends it"
        with client.lock("a", wait=10):
            pass
        self.assertTrue(other.asked)

    def test_a_node_that_cannot_serve_names_others(self):
        well = self.node()
        away = self.node(sessions=refused(503, "leaving", nodes=[well.endpoint, "nonsense "]))
        with self.client(away).lock("a"):
            pass
        with self.assertRaises(Unreachable):
            self.client(away, discovery=False).lock("a").acquire()

    def test_an_endpoint_that_speaks_only_tls_is_passed_over(self):
        wrong, well = self.node(sessions=refused(400, "tls-only")), self.node()
        with self.client(wrong, well).lock("a"):
            pass
        with self.assertRaisesRegex(Unreachable, "it is so; do that"):
            self.client(wrong).lock("a").acquire()

    def test_an_acquire_is_sent_again_until_there_is_an_answer(self):
        node = self.node(acquire=None)
        client = self.client(node)
        threading.Timer(0.3, lambda: node.answers.update(acquire=http(200, HELD))).start()
        client.lock("a").acquire().release()
        numbers = {body["request"] for _, path, _, body in node.asked if path == "/v1/acquire"}
        self.assertEqual(numbers, {1}, "it is the same acquire all the time")

    def test_an_acquire_that_is_cancelled_is_withdrawn(self):
        node = self.node(acquire=b"")

        async def work():
            async with AsyncSkeptron(node.endpoint) as client:
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(client.lock("a").acquire(), 0.3)
                while not [path for _, path, _, _ in node.asked if path == "/v1/release"]:
                    await asyncio.sleep(0.01)

        asyncio.run(asyncio.wait_for(work(), PATIENCE))
        [body] = [body for _, path, _, body in node.asked if path == "/v1/release"]
        self.assertEqual(body, {"session": "5e5510", "lock": "a", "request": 1})

    def test_an_acquire_that_is_overdue_is_withdrawn(self):
        node = self.node(acquire=b"")
        client = self.client(node, ttl=3)
        node.answers["sessions"] = http(200, {**OPENED, "ttl_ms": 300})
        self.assertRaises(NotAcquired, client.lock("a", wait=0.1).acquire)
        withdrawn = lambda: [body for _, path, _, body in node.asked if path == "/v1/release"]
        until(withdrawn, "the acquire is withdrawn")
        self.assertEqual(withdrawn()[0], {"session": "5e5510", "lock": "a", "request": 1})


if __name__ == "__main__":
    unittest.main()
