"""What is shipped beside the module: examples, the README, the package."""

import ast
import importlib.util
import logging
import os
import pydoc
import re
import subprocess
import sys
import tempfile
import unittest

import skeptron
from tests.cluster import CLIENT, PATIENCE, Cluster, until

EXAMPLES = sorted((CLIENT / "examples").glob("*.py"))


class Texts(unittest.TestCase):
    def test_examples_are_short(self):
        self.assertGreaterEqual(len(EXAMPLES), 2)
        for path in EXAMPLES:
            self.assertLess(len(path.read_text().splitlines()), 30, path.name)

    def test_what_the_readme_shows_is_python_and_names_what_there_is(self):
        blocks = re.findall(r"```python\n(.*?)```", (CLIENT / "README.md").read_text(), re.S)
        self.assertGreater(len(blocks), 3)
        for block in blocks:
            # A body may be left out, and code may stand in a coroutine.
            tree = ast.parse(block) if "await" not in block and "async " not in block else ast.parse(
                "async def body():\n" + "\n".join("    " + line for line in block.splitlines()))
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module == "skeptron":
                    for name in node.names:
                        self.assertIn(name.name, skeptron.__all__)

    def test_everything_public_is_explained(self):
        text = pydoc.plaintext.document(skeptron)
        for name in skeptron.__all__:
            self.assertIn(name, text)
            thing = getattr(skeptron, name)
            self.assertTrue(thing.__doc__, name)
            for member in vars(thing).values() if isinstance(thing, type) else ():
                if callable(member) and not getattr(member, "__name__", "_").startswith("_"):
                    self.assertTrue(member.__doc__, f"{name}.{member.__name__}")

    def test_it_can_be_installed(self):
        if importlib.util.find_spec("pip") is None:
            self.skipTest("there is no pip")
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--target",
                       os.path.join(folder, "target"), str(CLIENT)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            environment = {**environment, "PYTHONPATH": os.path.join(folder, "target")}
            code = "import skeptron; print(skeptron.__version__, skeptron.__file__)"
            said = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, check=True,
                                  capture_output=True, text=True).stdout
            self.assertIn(os.path.join(folder, "target"), said)
            self.assertTrue(said.startswith(skeptron.__version__ + " "))


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        logging.getLogger("skeptron").setLevel(logging.ERROR)
        cls.cluster = Cluster(lease="30s")
        cls.addClassCleanup(cls.cluster.stop)

    def start(self, name):
        environment = {**os.environ, "PYTHONPATH": str(CLIENT),
                       "SKEPTRON_ENDPOINT": ",".join(self.cluster.endpoints())}
        process = subprocess.Popen([sys.executable, "-W", "error", "-u", str(CLIENT / "examples" / name)],
                                   env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_the_cron_job_is_done_by_one_at_a_time(self):
        for _ in range(2):
            first = self.start("cron_job.py")
            self.assertRegex(first.stdout.readline(), r"^step 0, fence \d+$", first.stderr)
            second = self.start("cron_job.py")
            said = second.stderr.read()
            first.stdout.read()
            self.assertEqual(first.wait(PATIENCE), 0)
            # On a busy machine the first may have ended before the second began.
            if second.wait(PATIENCE) != 0:
                self.assertEqual(said, "another machine does it\n")

    def test_the_worker_takes_over_from_a_leader_that_was_killed(self):
        first = self.start("leader_worker.py")
        said = first.stdout.readline()
        if "no-such-path" in said:
            self.skipTest("this node has no elections")
        self.assertRegex(said, r"^working in term \d+$")
        second = self.start("leader_worker.py")
        with skeptron.Skeptron(self.cluster.endpoints()) as client:
            until(lambda: sum(it.waiters for it in client.locks("worker")) == 1, "the second waits")
            term = client.leader("worker").term
            first.kill()
            later = second.stdout.readline()
            self.assertRegex(later, r"^working in term \d+$")
            self.assertGreater(int(later.split()[-1]), term)


if __name__ == "__main__":
    unittest.main()
