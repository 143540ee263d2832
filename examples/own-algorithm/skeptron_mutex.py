"""Makes a class a program that `skeptron sim`, `check`, `compare` and `lab` run. See README.md."""

import json
import sys

#: What a class may say of itself besides `messages`.
SAID = ("title", "paper", "idea", "family", "channel", "variables", "claims", "ordered", "rules", "fires", "notes")


class Refused(Exception):
    """A message that no correct node would have sent now. The node stays as it was."""


class Mutex:
    """One node. Its attributes are its state: numbers, texts, lists, sets, and what they hold."""

    messages = {}
    variables = {}

    def init(self):
        """Sets the attributes with which a node begins."""

    def start(self):
        """The system begins."""

    def request(self):
        """The application wants in. Call `self.enter()` now or on a later message."""
        raise NotImplementedError("write `def request(self)`")

    def release(self):
        """The application leaves."""
        raise NotImplementedError("write `def release(self)`")

    # A message of the kind K calls `on_K(sender, ...)` with what it carries, by name.

    def others(self):
        """All nodes but this one."""
        return {node for node in range(1, self.nodes + 1) if node != self.me}

    def send(self, to, kind, **fields):
        """Sends a message to another node."""
        self._effects.append({"do": "send", "to": to, "message": {"kind": kind, **plain(fields)}})

    def broadcast(self, kind, **fields):
        """Sends a message to all other nodes."""
        self._effects.append({"do": "broadcast", "message": {"kind": kind, **plain(fields)}})

    def enter(self):
        """Enters the section, which the application has asked for."""
        self._effects.append({"do": "enter"})

    def refuse(self, why):
        """Does not take this message: no correct node would have sent it now."""
        raise Refused(why)

    def absorb(self):
        """Says that it makes no difference whether this message is taken now or later: nothing that is sent
        before depends on it. The checker proves that, and then has fewer states to look at."""
        self._absorbs = True


def plain(value):
    """What JSON can say."""
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is no text, as JSON wants it; use a list of pairs")
        return {key: plain(item) for key, item in value.items()}
    return value


def made(algorithm, question):
    node = algorithm()
    node.me, node.nodes, node._effects, node._absorbs = question["me"], question["nodes"], [], False
    return node


def state(node):
    return {name: plain(value) for name, value in vars(node).items() if name not in ("me", "nodes") and name[0] != "_"}


def is_set(variable):
    return (variable if isinstance(variable, str) else variable.get("type", "any")).endswith("-set")


def step(algorithm, question):
    node = made(algorithm, question)
    for name, value in question["state"].items():
        if is_set(algorithm.variables.get(name, "any")) and value is not None:
            value = {tuple(item) if isinstance(item, list) else item for item in value}
        setattr(node, name, value)
    what = question["input"]
    try:
        if what["do"] == "deliver":
            fields = dict(what["message"])
            getattr(node, "on_" + fields.pop("kind"))(what["from"], **fields)
        else:
            getattr(node, what["do"])()
    except Refused as why:
        return {"refuse": str(why)}
    return {"state": state(node), "effects": node._effects, "absorbs": node._absorbs}


def answer(algorithm, question):
    if question["ask"] == "describe":
        said = {name: getattr(algorithm, name) for name in SAID if hasattr(algorithm, name)}
        return {"skeptron": 1, "messages": algorithm.messages, **said}
    if question["ask"] == "init":
        node = made(algorithm, question)
        node.init()
        return {"state": state(node)}
    return step(algorithm, question)


def run(algorithm):
    """Answers until there are no more questions. What is printed meanwhile goes to standard error."""
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        print(json.dumps(answer(algorithm, json.loads(line))), file=out, flush=True)
