#!/usr/bin/env python3
"""Begin here: copy this file and skeptron_mutex.py, change the rules, and run

    skeptron check ./template.py -n 3 --requests 2
"""

from skeptron_mutex import Mutex, run


class Template(Mutex):
    title = "A queue at P1"
    idea = "P1 lets one node in at a time, in the order in which they ask."
    # Each kind of message, and what it carries: any, node, clock, requests, stamp, or many as in node-set.
    messages = {"REQUEST": {}, "GRANT": {}, "RELEASE": {}}
    # What a node knows; of the types above.
    variables = {"queue": {"type": "node-list", "meaning": "who asked, the one inside first"}}
    # What it costs, for N nodes; `skeptron compare` measures it.
    claims = [{"of": "messages", "from": "0", "to": "3"}]

    def init(self):
        self.queue = []

    def request(self):
        if self.me == 1:
            self.asked(1)
        else:
            self.send(1, "REQUEST")

    def on_REQUEST(self, sender):
        self.asked(sender)

    def on_GRANT(self, sender):
        self.enter()

    def release(self):
        if self.me == 1:
            self.left()
        else:
            self.send(1, "RELEASE")

    def on_RELEASE(self, sender):
        self.left()

    def asked(self, node):
        self.queue.append(node)
        if len(self.queue) == 1:
            self.grant()

    def left(self):
        self.queue.pop(0)
        if self.queue:
            self.grant()

    def grant(self):
        if self.queue[0] == 1:
            self.enter()
        else:
            self.send(self.queue[0], "GRANT")


run(Template)
