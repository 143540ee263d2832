"""Real nodes in processes of their own."""

import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from _skeptron.background import Call
from _skeptron.client import Client, Config

#: Nothing here takes that long unless it is stuck.
PATIENCE = 240.0
ROOT = pathlib.Path(__file__).resolve().parents[3]
#: Where `skeptron.py` is.
CLIENT = ROOT / "clients" / "python"

_ports = itertools.count(7000)


def binary():
    """The command under test: SKEPTRON_BIN, or the debug build."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    path = pathlib.Path(os.environ.get("SKEPTRON_BIN", target / "debug" / "skeptron"))
    if not path.exists():
        raise unittest.SkipTest(f"there is no {path}: run `cargo build`, or set SKEPTRON_BIN")
    return str(path)


def until(condition, what, patience=PATIENCE):
    """Waits until something holds, and returns it."""
    end = time.monotonic() + patience
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {patience} s: {what}")
        time.sleep(0.02)


class Node:
    """A node in a process of its own."""

    def __init__(self, cluster, number):
        self._cluster = cluster
        self.number = number
        self.address = cluster.address(number, cluster.port)
        self.endpoint = cluster.scheme + "://" + cluster.address(number, 7470 + cluster.port)
        self._log = cluster.folder / f"node-{number}.log"
        self._config = cluster.folder / f"node-{number}.toml"
        self._config.write_text(
            f"node = {number}\ndata = 'node-{number}'\naddress = '{self.address}'\n"
            f"voters = {json.dumps(cluster.voters)}\n{cluster.settings}\n"
            f"[api]\nlisten = ['{self.endpoint.partition('//')[2]}']\n{cluster.api}\n"
        )
        self.process = None
        self.start(*(["--init"] if number == 1 else []))

    def start(self, *more):
        command = [binary(), "node", "--config", str(self._config), *more]
        with open(self._log, "a") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self):
        """Ends it at once, as a loss of power would."""
        self.process.kill()
        self.process.wait()

    def restart(self):
        """Starts it again after it ended, and waits until it is a member."""
        self.start()
        self._cluster.until_ready()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def leave(self):
        """Begins to leave the cluster."""
        self.process.terminate()

    def is_ready(self, members):
        """Whether it has links to that many members, itself included."""
        if self.process.poll() is not None:
            raise AssertionError(f"node {self.number} ended: {self.said()}")
        try:
            _, _, status = self._cluster.client(self).first("GET", "/v1/status")
        except Exception:
            return False
        links = [member["link"] for member in status["members"]]
        return len(links) == members and "down" not in links

    def said(self):
        return self._log.read_text()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.resume()
            self.kill()


class _Asker:
    """Asks one node without a session."""

    def __init__(self, config):
        self._client = Client(config)

    def first(self, method, path):
        return Call(lambda: self._client.first(method, path)).result()

    def close(self):
        Call(self._client.close).result()


class Cluster:
    """Three nodes that vote, or as many as said, on addresses of the loopback network that nobody else uses."""

    def __init__(self, nodes=3, lease="5s", api="", settings="insecure = true", scheme="http", reach=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="skeptron-"))
        self.port = next(_ports)
        self.scheme = scheme
        self.api = api
        self.settings = f"{settings}\nlease.length = '{lease}'"
        self.reach = reach or {}
        self.voters = [self.address(number, self.port) for number in range(1, nodes + 1)]
        self._askers = {}
        self.nodes = []
        try:
            self.prepare()
            for number in range(1, nodes + 1):
                self.nodes.append(Node(self, number))
            self.until_ready()
        except BaseException:
            self.stop()
            raise

    def prepare(self):
        """Makes what nodes need before they start."""

    @staticmethod
    def address(number, port):
        high, low = (os.getpid() & 0xFFFF).to_bytes(2, "big")
        return f"127.{high}.{low}.{number}:{port}"

    def client(self, node):
        if node.number not in self._askers:
            config = Config(node.endpoint, **{"token": None, "ca": None, "cert": None, "key": None,
                                              "owner": "test", "ttl": 10, "discovery": False, **self.reach})
            self._askers[node.number] = _Asker(config)
        return self._askers[node.number]

    def endpoints(self, *first):
        """All endpoints, these nodes' first, counted from 1."""
        numbers = [*first, *(node.number for node in self.nodes if node.number not in first)]
        return [self.nodes[number - 1].endpoint for number in numbers]

    def until_ready(self):
        """Waits until all have met."""
        for node in self.nodes:
            until(lambda: node.is_ready(len(self.voters)), f"node {node.number} is ready")
        if len(self.voters) > 1:
            until(self._all_vote, "all voters vote")

    def _all_vote(self):
        _, _, status = self.client(self.nodes[0]).first("GET", "/v1/status")
        voters = status["views"]["voters"]
        return len(voters) == len(self.voters) and all(voter["votes"] for voter in voters)

    def stop(self):
        for asker in self._askers.values():
            asker.close()
        for node in self.nodes:
            node.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def program(source, *arguments, **environment):
    """Starts a Python program that can import the client."""
    environment = {**os.environ, "PYTHONPATH": str(CLIENT), **environment}
    return subprocess.Popen([sys.executable, "-W", "error", "-u", "-c", source, *arguments], env=environment,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
