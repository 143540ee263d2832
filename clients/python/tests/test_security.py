"""Certificates and tokens, at real nodes."""

import logging
import socket
import ssl
import subprocess
import unittest

from skeptron import Refused, Skeptron, Unreachable
from tests.cluster import Cluster, binary

TOKEN = "a-token-of-the-test"


class SecureCluster(Cluster):
    """One node that speaks TLS, with certificates in a folder."""

    def prepare(self):
        host = self.voters[0].partition(":")[0]
        for name in ("certs", "others"):
            subprocess.run([binary(), "tls", "init", str(self.folder / name), "--cluster", "secure", "--nodes", "1",
                            "--host", f"1={host}", "--client", "python"], check=True, stdout=subprocess.DEVNULL)
        self.reach = dict(self.files("certs"))

    def files(self, name):
        """What a client is told of a folder of certificates."""
        folder = self.folder / name
        return {"ca": str(folder / "ca.pem"), "cert": str(folder / "client-python.pem"),
                "key": str(folder / "client-python.key")}


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        logging.getLogger("skeptron").setLevel(logging.ERROR)
        settings = "cluster = 'secure'\ntls.folder = 'certs'"
        cls.cluster = SecureCluster(nodes=1, lease="30s", api=f"tls = true\ntoken = '{TOKEN}'", settings=settings,
                                    scheme="https")
        cls.addClassCleanup(cls.cluster.stop)
        [cls.endpoint] = cls.cluster.endpoints()
        cls.files = cls.cluster.files("certs")

    def test_a_certificate_opens(self):
        with Skeptron(self.endpoint, **self.files).lock("tls") as hold:
            hold.check()

    def test_a_token_opens_with_the_authority_alone(self):
        with Skeptron(self.endpoint, ca=self.files["ca"], token=TOKEN).lock("tls") as hold:
            hold.check()
        # An address alone is https where there is an authority.
        with Skeptron(self.endpoint.partition("//")[2], ca=self.files["ca"], token=TOKEN).lock("tls"):
            pass

    def test_neither_is_refused(self):
        with self.assertRaises(Refused) as raised:
            Skeptron(self.endpoint, ca=self.files["ca"]).lock("tls").acquire()
        self.assertEqual((raised.exception.status, raised.exception.code), (401, "stranger"))

    def test_a_node_of_another_authority_is_not_believed_and_sees_no_token(self):
        with self.assertRaisesRegex(Unreachable, "(?i)certificate"):
            Skeptron(self.endpoint, ca=self.cluster.files("others")["ca"], token=TOKEN).lock("tls").acquire()
        with self.assertRaisesRegex(Unreachable, "(?i)certificate"):
            Skeptron(self.endpoint, token=TOKEN).lock("tls").acquire()

    def test_a_certificate_of_another_authority_is_refused(self):
        files = {**self.cluster.files("others"), "ca": self.files["ca"]}
        with self.assertRaises(Unreachable):
            Skeptron(self.endpoint, **files).lock("tls").acquire()

    def test_certificates_satisfy_strict_verifiers(self):
        """As other programs in Python 3.13 are; this client is less strict, for certificates of before."""
        context = ssl.create_default_context(cafile=self.files["ca"])
        context.load_cert_chain(self.files["cert"], self.files["key"])
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        host, _, port = self.endpoint.partition("//")[2].partition(":")
        with socket.create_connection((host, int(port))) as plain:
            with context.wrap_socket(plain, server_hostname=host) as secure:
                self.assertTrue(secure.version())

    def test_files_that_are_missing_or_useless_are_errors_at_once(self):
        with self.assertRaises(OSError):
            Skeptron(self.endpoint, ca="nowhere.pem")
        with self.assertRaises((ssl.SSLError, OSError)):
            Skeptron(self.endpoint, ca=self.files["ca"], cert=self.files["ca"])
        with self.assertRaisesRegex(ValueError, "https"):
            Skeptron("http://127.0.0.1:7470", ca=self.files["ca"])


class Token(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        logging.getLogger("skeptron").setLevel(logging.ERROR)
        cls.cluster = Cluster(nodes=1, lease="30s", api=f"token = '{TOKEN}'", reach={"token": TOKEN})
        cls.addClassCleanup(cls.cluster.stop)
        [cls.endpoint] = cls.cluster.endpoints()

    def test_the_token_opens(self):
        with Skeptron(self.endpoint, token=TOKEN).lock("token") as hold:
            hold.check()

    def test_a_wrong_token_is_refused_and_not_shown(self):
        for token in ("wrong", None):
            client = Skeptron(self.endpoint, token=token)
            with self.assertRaises(Refused) as raised:
                client.lock("token").acquire()
            self.assertEqual(raised.exception.code, "stranger")
            self.assertNotIn("wrong", repr(client) + str(raised.exception))

    def test_a_token_that_cannot_be_sent_is_an_error_at_once(self):
        for token in ("two\r\nlines", "schlüssel"):
            with self.assertRaisesRegex(ValueError, "token"):
                Skeptron(self.endpoint, token=token)


if __name__ == "__main__":
    unittest.main()
