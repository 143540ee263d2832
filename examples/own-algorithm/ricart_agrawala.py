#!/usr/bin/env python3
"""Ricart and Agrawala's algorithm. It has the states and runs of `skeptron explain ricart-agrawala`."""

from skeptron_mutex import Mutex, run


class RicartAgrawala(Mutex):
    title = "Ricart–Agrawala in Python"
    paper = (
        "G. Ricart, A. K. Agrawala: An optimal algorithm for mutual exclusion in computer networks. CACM 24(1), 1981"
    )
    idea = (
        "A node that wants in asks all others and enters when all have answered. Whoever is inside, or has an older "
        "request of its own, answers only when it leaves."
    )
    channel = "any"
    messages = {"REQUEST": {"t": "clock"}, "REPLY": {"t": "clock"}}
    variables = {
        "phase": {"symbol": "state", "meaning": "idle, waiting or inside"},
        "clock": {"type": "clock", "symbol": "C", "meaning": "the highest clock value seen"},
        "stamp": {"type": "clock", "symbol": "t", "meaning": "the stamp of the present request, or of the last one"},
        "awaiting": {"type": "node-set", "meaning": "who has not answered yet"},
        "deferred": {"type": "node-set", "meaning": "who gets its answer at the exit"},
    }
    claims = [
        {"of": "messages", "exactly": "2(N-1)"},
        {"of": "client_delay", "exactly": "2", "when": ["lone", "constant-latency"]},
        {"of": "sync_delay", "exactly": "1", "when": ["saturated", "constant-latency"]},
        {"of": "sync_delay", "from": "1", "to": "2", "when": ["constant-latency"]},
        {"of": "bypass", "from": "0", "to": "2(N-1)"},
    ]
    ordered = True
    rules = [
        "Request: stamp the wish with the own clock, once, and send REQUEST(t) to all others.",
        "REQUEST at a node that is inside, or wants in with a smaller (t, id): defer the REPLY.",
        "REQUEST at any other node: REPLY at once.",
        "Enter on a REPLY from every other node.",
        "Exit: send the deferred REPLYs.",
    ]

    def init(self):
        self.phase, self.clock, self.stamp = "idle", 0, 0
        self.awaiting, self.deferred = set(), set()

    def request(self):
        self.phase = "waiting"
        self.clock += 1
        self.stamp = self.clock
        self.awaiting = self.others()
        if self.awaiting:
            self.broadcast("REQUEST", t=self.stamp)
        self.enter_if_all_replied()

    def on_REQUEST(self, sender, t):
        if sender in self.deferred:
            self.refuse("a second REQUEST before the first was answered")
        self.clock = max(self.clock, t)
        mine_is_older = (self.stamp, self.me) < (t, sender)
        if self.phase == "inside" or (self.phase == "waiting" and mine_is_older):
            self.deferred.add(sender)
        else:
            self.send(sender, "REPLY", t=self.clock)

    def on_REPLY(self, sender, t):
        if sender not in self.awaiting:
            self.refuse("a REPLY that was not asked for")
        if t <= self.clock:
            self.absorb()
        self.clock = max(self.clock, t)
        self.awaiting.remove(sender)
        self.enter_if_all_replied()

    def enter_if_all_replied(self):
        if self.phase == "waiting" and not self.awaiting:
            self.phase = "inside"
            self.enter()

    def release(self):
        self.phase = "idle"
        for node in sorted(self.deferred):
            self.send(node, "REPLY", t=self.clock)
        self.deferred = set()


run(RicartAgrawala)
