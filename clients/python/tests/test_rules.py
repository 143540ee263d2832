"""The rules of a session, with a clock of the test's own."""

import unittest

from _skeptron.endpoints import Endpoint, is_admitted, parse, parse_all
from _skeptron.rules import Standing, Wish, believed, checked_mode, is_over_there, is_within

PLACE = {"node": 1, "life": "00000000000000aa", "epoch": 3}
THERE = {"node": 2, "life": "00000000000000bb", "epoch": 4}


def opened(valid_ms=4000, **more):
    """A session with a TTL of 10 s, opened at second 100 at endpoint 0."""
    answer = {"session": "5e5510", "ttl_ms": 10_000, "valid_ms": valid_ms, "place": PLACE, **more}
    return Standing(answer, sent=100.0, at=0, owner="me")


def alive(valid_ms=4000, lost=(), **more):
    return {"valid_ms": valid_ms, "pending": False, "lost": list(lost), **more}


def moved(valid_ms=4000, pending=False, lost=()):
    return {"valid_ms": valid_ms, "pending": pending, "lost": list(lost), "place": THERE}


def holding(standing, now=101.0, lock="a", fence=7, wish=None):
    """Lets the session hold a lock."""
    assert standing.granted(now, (lock, fence), standing.next_request(), standing.moved, wish or Wish(lock))
    return (lock, fence)


class Validity(unittest.TestCase):
    def test_belief_ends_before_the_grant_on_any_two_clocks_within_the_bound(self):
        granted, ppm = 10.0, 1000
        holder = believed(granted, ppm) / (1 - ppm / 1e6)
        grantor = granted / (1 + ppm / 1e6)
        self.assertLessEqual(holder, grantor + 1e-9)
        self.assertGreater(holder, grantor - 1e-6)
        self.assertEqual(believed(granted, 0), granted)
        self.assertEqual(believed(granted, 5e6), 0.0)

    def test_validity_counts_from_the_sending_and_is_a_little_less_than_promised(self):
        standing = opened()
        self.assertTrue(standing.is_valid(103.99))
        self.assertFalse(standing.is_valid(104.0))
        self.assertIsNotNone(standing.kept(103.0, sent=101.0, moved=0, answer=alive()))
        self.assertTrue(standing.is_valid(104.99))
        self.assertFalse(standing.is_valid(105.0))

    def test_a_node_that_knows_worse_clocks_is_believed(self):
        standing = opened(drift_ppm=100_000)
        self.assertFalse(standing.is_valid(103.3))
        standing.kept(101.0, 101.0, 0, alive(drift_ppm=200_000))
        self.assertFalse(standing.is_valid(103.7))

    def test_an_answer_to_an_earlier_sign_does_not_shorten(self):
        standing = opened()
        standing.kept(102.0, sent=102.0, moved=0, answer=alive())
        standing.kept(103.0, sent=100.5, moved=0, answer=alive())
        self.assertTrue(standing.is_valid(105.9))

    def test_what_ended_stays_ended(self):
        standing = opened()
        standing.kept(104.5, sent=103.9, moved=0, answer=alive())
        self.assertFalse(standing.is_valid(104.5))

    def test_signs_are_given_at_a_third_of_the_ttl_or_a_quarter_of_the_promise(self):
        self.assertAlmostEqual(opened(valid_ms=4000).pace(), 1.0)
        self.assertAlmostEqual(opened(valid_ms=40_000).pace(), 10 / 3)
        self.assertGreater(opened(valid_ms=0).pace(), 0)

    def test_a_node_that_promises_nothing_has_not_answered(self):
        standing = opened()
        self.assertIsNone(standing.kept(101.0, 101.0, 0, alive(valid_ms=0)))

    def test_the_end_that_a_node_tells_is_the_end(self):
        standing = opened()
        standing.not_kept(moved=0, status=410, code="session-over")
        self.assertFalse(standing.is_valid(100.1))
        self.assertEqual(standing.valid_for(100.1), 0.0)
        self.assertIsNone(standing.kept(100.2, 100.2, 0, alive()))

    def test_a_sign_names_the_life_that_is_meant(self):
        self.assertEqual(opened().sign().path, "/v1/sessions/5e5510/keep-alive?life=00000000000000aa")
        self.assertEqual(opened(place=None).sign().path, "/v1/sessions/5e5510/keep-alive")
        self.assertTrue(opened(epoch=4).sign().path.endswith("?life=00000000000000aa&epoch=4"))


class Locks(unittest.TestCase):
    def test_what_a_node_lost_stays_lost(self):
        standing = opened()
        entry = holding(standing)
        standing.kept(101.0, 101.0, 0, alive(lost=[{"lock": "a", "fence": "7"}]))
        self.assertIn(entry, standing.lost)
        standing.kept(102.0, 102.0, 0, alive())
        self.assertIn(entry, standing.lost)
        standing.let_go(entry)
        self.assertEqual((standing.lost, standing.held), (set(), {}))

    def test_a_grant_that_comes_too_late_is_none(self):
        standing = opened()
        self.assertFalse(standing.granted(104.1, ("a", 7), 1, 0, Wish("a")))
        standing.start_move(1)
        self.assertFalse(standing.granted(101.0, ("a", 7), 1, 0, Wish("a")))
        standing.taken(101.0, 101.0, 1, moved())
        self.assertFalse(standing.granted(101.0, ("a", 7), 1, 0, Wish("a")))
        self.assertTrue(standing.granted(101.0, ("a", 7), 1, 1, Wish("a")))

    def test_every_acquire_has_its_own_number(self):
        standing = opened()
        self.assertEqual([standing.next_request() for _ in range(3)], [1, 2, 3])

    def test_what_may_be_asked_again(self):
        self.assertTrue(is_over_there(False, None, ""))
        for status, code in [(410, "session-over"), (503, "leaving"), (503, "unwell"), (421, "other-life")]:
            self.assertTrue(is_over_there(True, status, code), code)
            self.assertFalse(is_over_there(False, status, code), code)
        for status, code in [(503, "full"), (503, "unavailable"), (409, "not-acquired"), (401, "stranger")]:
            self.assertFalse(is_over_there(True, status, code), code)


class Kinds(unittest.TestCase):
    def test_modes_are_read(self):
        for mode in ("exclusive", "shared", "permits:2", "permits:100"):
            self.assertEqual(checked_mode(mode), mode)
        self.assertEqual(checked_mode("permits:1"), "exclusive")
        for mode in ("permits:0", "permits:01", "permits:9999999999", "permits:3 ", "Shared", "", None, 1):
            with self.assertRaisesRegex(ValueError, "'exclusive', 'shared' or 'permits:K'"):
                checked_mode(mode)

    def test_who_holds_a_lock_alone_may_do_what_others_may(self):
        modes = ["exclusive", "permits:2", "permits:10", "shared"]
        for place, mode in enumerate(modes):
            self.assertEqual([is_within(mode, other) for other in modes], [other >= place for other in range(4)])

    def brought(self, standing):
        return [(it["fence"], it.get("mode", "exclusive"), it["request"]) for it in standing.start_move(1).body["held"]]

    def test_a_move_says_what_is_believed_as_soon_as_that_is_less(self):
        standing = opened()
        entry = holding(standing)
        self.assertEqual(self.brought(standing), [("7", "exclusive", 1)])
        standing.shares(entry, "shared")
        self.assertEqual(self.brought(standing), [("7", "shared", 1)])
        standing.shares(("b", 1), "shared")  # Not held: nothing to be believed.

    def test_a_move_says_more_only_after_an_upgrade_was_answered(self):
        standing = opened()
        holding(standing, wish=Wish("a", "permits:3"))
        request = standing.next_request()
        self.assertEqual(self.brought(standing), [("7", "permits:3", 1)])
        upgrade = Wish("a", upgrade=7)
        self.assertFalse(standing.granted(101.0, ("a", 9), request, 0, upgrade), "it moves without it")
        self.assertEqual(list(standing.held), [("a", 7)])
        standing.not_taken(None)
        self.assertTrue(standing.granted(101.0, ("a", 9), request, 0, upgrade))
        self.assertEqual(self.brought(standing), [("9", "exclusive", 2)])

    def test_questions_are_what_the_manual_says(self):
        cases = [
            (Wish("a"), "/v1/acquire", {"lock": "a"}),
            (Wish("a", "shared"), "/v1/acquire", {"lock": "a", "mode": "shared"}),
            (Wish("a", upgrade=2**60), "/v1/acquire", {"lock": "a", "upgrade": str(2**60)}),
            (Wish("a", value=""), "/v1/campaign", {"name": "a", "value": ""}),
        ]
        for wish, path, body in cases:
            self.assertEqual(wish.question(), (path, body))


class Moves(unittest.TestCase):
    def test_a_move_says_what_is_held_and_not_lost(self):
        standing = opened()
        holding(standing)
        holding(standing, lock="b", fence=2**60)
        standing.kept(101.0, 101.0, 0, alive(lost=[{"lock": "a", "fence": "7"}]))
        ask = standing.start_move(1)
        self.assertEqual((ask.at, ask.path), (1, "/v1/sessions/5e5510/move"))
        held = [{"lock": "b", "fence": str(2**60), "request": 2}]
        body = {"from": PLACE, "number": 1, "ttl_ms": 10_000, "owner": "me", "requests": 2, "held": held}
        self.assertEqual(ask.body, body)

    def test_numbers_of_moves_rise(self):
        standing = opened()
        numbers = [standing.start_move(to).body["number"] for to in (1, 2, 1)]
        self.assertEqual(numbers, [1, 2, 3])
        self.assertIsNone(standing.taken(101.0, 101.0, 2, moved()))
        self.assertIsNotNone(standing.taken(101.0, 101.0, 3, moved()))
        self.assertEqual((standing.at, standing.moved, standing.place), (1, 3, THERE))

    def test_the_first_word_of_another_node_replaces_what_the_former_promised(self):
        standing = opened(valid_ms=8000)
        standing.start_move(1)
        standing.taken(101.0, 101.0, 1, moved(valid_ms=2500))
        self.assertTrue(standing.is_valid(103.4))
        self.assertFalse(standing.is_valid(103.5))

    def test_while_pending_no_longer_than_the_ttl_after_the_last_sign_at_the_former_node(self):
        standing = opened()
        holding(standing)
        standing.start_move(1)
        standing.taken(103.0, 103.0, 1, moved(valid_ms=60_000, pending=True))
        self.assertTrue(standing.is_valid(109.9))
        self.assertFalse(standing.is_valid(110.0))
        # The same number again is a sign of life.
        self.assertEqual(standing.move().body["number"], 1)
        standing.taken(105.0, 105.0, 1, moved(valid_ms=3000, pending=True))
        self.assertTrue(standing.is_valid(109.9), "a second word of the same node does not shorten")
        # Settled, only what the node promises counts.
        standing.taken(106.0, 106.0, 1, moved(valid_ms=60_000))
        self.assertTrue(standing.is_valid(160.0))
        self.assertIsNone(standing.moving)

    def test_the_first_word_counts_also_while_pending(self):
        standing = opened(valid_ms=8000)
        holding(standing)
        standing.start_move(1)
        standing.taken(101.0, 101.0, 1, moved(valid_ms=2500, pending=True))
        self.assertFalse(standing.is_valid(103.5))

    def test_the_ttl_while_pending_runs_from_the_last_sign_where_the_session_is(self):
        def pending_until(standing, now, number):
            standing.start_move(standing.at + 1)
            answer = {**moved(valid_ms=60_000, pending=True), "place": {**THERE, "life": "00000000000000cc"}}
            standing.taken(now, now, number, answer)
            return standing.until

        stayed = opened()
        stayed.kept(103.0, 103.0, 0, alive())
        self.assertAlmostEqual(pending_until(stayed, 104.0, 1), 103.0 + believed(10, 1000))
        gone = opened()
        gone.start_move(1)
        gone.taken(103.0, 103.0, 1, moved())
        self.assertAlmostEqual(pending_until(gone, 104.0, 2), 103.0 + believed(10, 1000))

    def test_a_node_whose_lease_is_about_to_end_is_not_moved_to(self):
        standing = opened()
        standing.start_move(1)
        self.assertIsNone(standing.taken(101.0, 101.0, 1, moved(valid_ms=500)))
        self.assertTrue(standing.is_valid(103.9))

    def test_the_session_stays_if_its_node_answers_again(self):
        standing = opened()
        holding(standing)
        standing.start_move(1)
        standing.taken(101.0, 101.0, 1, moved(valid_ms=9000, pending=True))
        behind = standing.kept(102.0, 102.0, 0, alive(valid_ms=3000))
        self.assertEqual([(ask.at, ask.path, ask.body) for ask in behind],
                         [(1, "/v1/sessions/5e5510/moved", {"number": 1})])
        self.assertIsNone(standing.moving)
        self.assertFalse(standing.is_valid(105.0), "the word of the one is void, that of the other counts")
        self.assertIsNone(standing.taken(103.0, 103.0, 1, moved()))

    def test_a_late_word_of_the_former_node_is_void(self):
        standing = opened()
        sent, number = 101.0, standing.moved
        standing.start_move(1)
        standing.taken(102.0, 102.0, 1, moved(valid_ms=1500))
        self.assertIsNone(standing.kept(102.1, sent, number, alive(valid_ms=8000)))
        self.assertFalse(standing.is_valid(103.5))
        standing.not_kept(number, 410, "session-over")
        self.assertTrue(standing.is_valid(103.0))

    def test_a_node_that_leaves_is_not_returned_to(self):
        standing = opened()
        holding(standing)
        standing.not_kept(0, 503, "leaving")
        self.assertIsNone(standing.sign())
        self.assertIsNone(standing.kept(101.0, 100.9, 0, alive()), "a late answer")
        standing.start_move(1)
        # It need not wait any longer for what the session holds.
        behind = standing.taken(101.0, 101.0, 1, moved(pending=True))
        self.assertEqual([(ask.at, ask.body) for ask in behind], [(0, {"number": 0})])
        self.assertLess(standing.pause(), standing.pace() / 5, "it arrives soon")
        standing.taken(102.0, 102.0, 1, moved())
        self.assertIsNotNone(standing.sign())
        self.assertEqual(standing.pause(), standing.pace())

    def test_a_node_that_grants_nothing_more_is_left_when_another_has_taken_the_session(self):
        standing = opened()
        holding(standing)
        standing.not_granted(1, "leaving")
        self.assertFalse(standing.home_closes, "a late answer of another node")
        standing.not_granted(0, "leaving")
        standing.start_move(1)
        standing.not_taken(None)
        # Nobody took it: where it is it lives on.
        self.assertIsNotNone(standing.sign())
        self.assertIsNotNone(standing.kept(101.0, 101.0, 0, alive()))
        standing.start_move(1)
        behind = standing.taken(102.0, 102.0, 2, moved(pending=True))
        self.assertEqual([(ask.at, ask.body) for ask in behind], [(0, {"number": 0})])
        self.assertIsNone(standing.sign())
        standing.taken(103.0, 103.0, 2, moved())
        self.assertIsNotNone(standing.sign())
        self.assertFalse(standing.home_closes)

    def test_while_pending_a_node_that_does_not_leave_is_not_told(self):
        standing = opened()
        holding(standing)
        standing.start_move(1)
        self.assertEqual(standing.taken(101.0, 101.0, 1, moved(pending=True)), [])

    def test_a_node_that_took_the_session_is_asked_again_under_the_same_number(self):
        standing = opened()
        holding(standing)
        standing.start_move(1)
        standing.taken(101.0, 101.0, 1, moved(pending=True))
        former = standing.moving
        self.assertEqual(standing.candidates([0, 1, 2]), [2])
        standing.start_move(2)
        standing.not_taken(former)
        self.assertEqual(standing.move().body["number"], 1)
        # And it is left behind when another one takes the session.
        standing.start_move(2)
        behind = standing.taken(102.0, 102.0, 3, moved())
        self.assertEqual([(ask.at, ask.body["number"]) for ask in behind], [(0, 0), (1, 1)])

    def test_without_a_place_or_another_endpoint_it_cannot_move(self):
        self.assertTrue(opened().can_move([0, 1]))
        self.assertFalse(opened().can_move([0]))
        self.assertFalse(opened(place=None).can_move([0, 1]))

    def test_the_same_life_under_another_address_is_no_move(self):
        standing = opened()
        entry = holding(standing)
        standing.start_move("another name of 0")
        self.assertEqual(standing.taken(101.0, 101.0, 1, {**moved(), "place": PLACE}), [])
        self.assertEqual((standing.at, standing.moved, standing.moving), ("another name of 0", 0, None))
        self.assertIn(entry, standing.held)

    def test_the_nodes_after_its_own_are_tried_first(self):
        standing = opened()
        standing.at = "b"
        self.assertEqual(standing.candidates(["a", "b", "c", "d"]), ["c", "d", "a"])
        self.assertEqual(standing.candidates(["a", "c"]), ["a", "c"], "its own is not told any more")

    def test_losses_are_told_by_the_node_that_the_session_moved_to(self):
        standing = opened()
        entry = holding(standing)
        standing.start_move(1)
        standing.taken(101.0, 101.0, 1, moved(lost=[{"lock": "a", "fence": "7"}]))
        self.assertEqual(standing.lost, {entry})


class Endpoints(unittest.TestCase):
    def test_endpoints_are_read(self):
        cases = {
            "http://127.0.0.1:7470": Endpoint("http", "127.0.0.1", 7470),
            "http://localhost": Endpoint("http", "localhost", 7470),
            "http://[::1]:80/": Endpoint("http", "::1", 80),
            "https://a-b.example:1": Endpoint("https", "a-b.example", 1),
            "unix:/run/skeptron.sock": Endpoint("unix", "/run/skeptron.sock"),
            "unix:///run/skeptron.sock": Endpoint("unix", "/run/skeptron.sock"),
            "127.0.0.1:7471": Endpoint("http", "127.0.0.1", 7471),
            "node1": Endpoint("http", "node1", 7470),
            "[::1]": Endpoint("http", "::1", 7470),
        }
        for text, endpoint in cases.items():
            self.assertEqual(parse(text), endpoint, text)
        self.assertEqual(str(parse("http://[::1]:80")), "http://[::1]:80")
        self.assertEqual(parse("node1", "https").scheme, "https")
        self.assertEqual(len(parse_all("node1, node2,node1", "http")), 2)

    def test_what_is_no_endpoint_says_what_one_looks_like(self):
        wrong = ["", "node1:7470/", "http:", "http://", "http://:80", "http://h:0", "http://h:70000", "http://h:x",
                 "http://h:1/path", "http://user@h:1", "ftp://h", "unix:", "http://[::g]:1", "http://::1",
                 "http://h h", "http://h\r\nX: y"]
        for text in wrong:
            with self.assertRaisesRegex(ValueError, "http://127.0.0.1:7470", msg=text):
                parse(text)
        with self.assertRaises(ValueError):
            parse_all([], "http")

    def test_addresses_that_nodes_tell_are_never_a_weaker_way(self):
        tls, plain, unix = "https://a:1", "http://a:1", "unix:/x"
        cases = [
            ([tls], False, "https://b:1", True),
            ([tls], False, "http://b:1", False),
            ([tls], True, "http://b:1", False),
            ([tls, plain], True, "http://b:1", False),
            ([plain], False, "http://b:1", True),
            ([plain], True, "http://b:1", True),
            ([plain], True, "https://b:1", False),
            ([unix], False, "http://b:1", True),
            ([unix], True, "http://b:1", False),
            ([unix], False, "http://127.0.0.1:1", True),
            ([plain], False, "http://127.0.0.1:1", False),
            (["http://[::1]:1"], False, "http://localhost:1", True),
            ([plain], False, "unix:/y", False),
        ]
        for given, has_token, told, is_followed in cases:
            given = [parse(text) for text in given]
            self.assertEqual(is_admitted(parse(told), given, has_token), is_followed, (given, has_token, told))


if __name__ == "__main__":
    unittest.main()
