"""A table and a server over it, made and ended as a person would not, for the scripts here."""

import http.client
import json
import os
import signal
import sys

import numpy as np

from chary.options import ReviewOptions
from chary.review import begin, serve


def write_table(path, n=2000):
    """Make two numbers with labels on outer rows.

    Without Polars: its threads do not survive a fork.
    """
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, n))
    label = np.where(np.abs(x) < 1.5, "", np.where(x + z > 0, "yes", "no"))
    lines = [f"{a},{b},{c}" for a, b, c in zip(x, z, label, strict=True)]
    path.write_text("\n".join(["x,z,y", *lines]) + "\n")


class Client:
    """Asks a page for what a browser would ask for."""

    def __init__(self, url):
        self.port, self.token = int(url.split(":")[2].split("/")[0]), url.split("token=")[1]
        self.cookie = ""
        answer = self.ask("GET", f"/?token={self.token}")
        self.cookie = answer.getheader("set-cookie").split(";")[0]

    def ask(self, method, path, body=None, **headers):
        """A request as the page makes it, unless headers say otherwise (None: left out)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        own = {"cookie": self.cookie} if self.cookie else {}
        if method == "POST":
            own |= {"content-type": "application/json", "origin": f"http://127.0.0.1:{self.port}"}
        sent = {
            name.replace("_", "-"): value
            for name, value in {**own, **headers}.items()
            if value is not None
        }
        host = sent.pop("host", None)
        connection.putrequest(method, path, skip_host=host is not None)
        if host is not None:
            connection.putheader("host", host)
        data = (
            None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        if data is not None and "content-length" not in sent:
            sent["content-length"] = str(len(data))
        for name, value in sent.items():
            connection.putheader(name, value)
        connection.endheaders(data)
        answer = connection.getresponse()
        answer.body = answer.read()
        connection.close()
        return answer

    def get(self, path):
        return json.loads(self.ask("GET", path).body)

    def post(self, path, **body):
        answer = self.ask("POST", path, body)
        assert answer.status == 200, answer.body
        return json.loads(answer.body)


class Server(Client):
    """A process of its own, forked to be there at once; ``kill`` gives it no time."""

    def __init__(self, path, quiet=True):
        told, tell = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(told)
            if quiet:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                serve(
                    begin([str(path)], ReviewOptions(target="y")),
                    browser=False,
                    opened=lambda url: os.write(tell, url.encode() + b"\n"),
                )
            finally:
                os._exit(0)
        os.close(tell)
        with os.fdopen(told) as lines:
            url = lines.readline().strip()
        super().__init__(url)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


if __name__ == "__main__":
    sys.exit("Run kill_answers.py.")
