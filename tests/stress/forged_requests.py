"""Forged requests, a thousand of them at once: all refused, one line each, and nothing changed.

python tests/stress/forged_requests.py [at once]
"""

import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from reviewing import Server, write_table

BODY = {"place": 2, "answer": "yes", "expected": ""}
FORGED = {
    "another host": ("POST", "/api/audit", BODY, {"host": "evil.example"}),
    "another port": ("POST", "/api/audit", BODY, {"host": "127.0.0.1:1"}),
    "rebinding, with the token": ("GET", "/?token={token}", None, {"host": "evil.example:{port}"}),
    "no cookie": ("POST", "/api/audit", BODY, {"cookie": None}),
    "a wrong cookie": ("POST", "/api/audit", BODY, {"cookie": "chary_{port}=x"}),
    "a wrong token": ("GET", "/?token=x", None, {"cookie": None}),
    "another origin": ("POST", "/api/audit", BODY, {"origin": "http://evil.example"}),
    "no origin": ("POST", "/api/audit", BODY, {"origin": None}),
    "cross-site, as the browser says": ("POST", "/api/audit", BODY, {"sec_fetch_site": "cross-site"}),
    "a form": ("POST", "/api/audit", b"place=2&answer=yes", {"content_type": "application/x-www-form-urlencoded"}),
    "another method": ("DELETE", "/api/audit", None, {}),
    "traversal": ("GET", "/download/../../../../etc/passwd", None, {}),
    "traversal, escaped": ("GET", "/assets/%2e%2e%2f%2e%2e%2fpyproject.toml", None, {}),
    "oversize": ("POST", "/api/audit", b"x" * (2 << 20), {}),
    "oversize, as it says": ("POST", "/api/audit", b"{}", {"content_length": "99999999999"}),
    "no JSON": ("POST", "/api/audit", b"{", {}),
    "deep JSON": ("POST", "/api/audit", b"[" * 500_000, {}),
    "no such row": ("POST", "/api/audit", {**BODY, "place": 99_999}, {}),
    "a path as answer": ("POST", "/api/audit", {**BODY, "answer": "x" * 9_999}, {}),
    "another file": ("GET", "/download/kept", None, {}),
}


def forge(server, name):
    """The status, 0 where the connection was closed on the sender."""
    method, path, body, headers = FORGED[name]
    filled = {key: value and value.format(port=server.port, token=server.token) for key, value in headers.items()}
    path = path.format(port=server.port, token=server.token)
    try:
        answer = server.ask(method, path, body, **filled)
    except OSError:
        return 0
    return answer.status


def main():
    at_once = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        write_table(path)
        log = os.open(Path(folder) / "log", os.O_WRONLY | os.O_CREAT)
        before_err = os.dup(2)
        os.dup2(log, 2)
        server = Server(path, quiet=False)
        os.dup2(before_err, 2)
        server.post("/api/audit/draw", k=30)
        server.post("/api/audit", place=1, answer="no", expected="")
        sheet = path.with_name("t.audit.csv").read_bytes()
        let_in = 0
        for name in FORGED:
            status = forge(server, name)
            let_in += 200 <= status < 400
            print(f"{name:34} {status or 'closed'}", flush=True)
        names = (list(FORGED) * (at_once // len(FORGED) + 1))[:at_once]
        with ThreadPoolExecutor(100) as pool:
            statuses = list(pool.map(lambda name: forge(server, name), names))
        let_in += sum(200 <= status < 400 for status in statuses)
        kinds = {status: statuses.count(status) for status in sorted(set(statuses))}
        print(f"{at_once} at once: {kinds}")
        unchanged = path.with_name("t.audit.csv").read_bytes() == sheet
        alive = server.get("/api/audit")["answered"] == 1
        lines = (Path(folder) / "log").read_text().splitlines()
        secret = sum(server.token in line or "evil" in line for line in lines)
        print(f"let in: {let_in}; sheet unchanged: {unchanged}; the page still answers: {alive}")
        print(f"lines logged: {len(lines)}, of at most {max(map(len, lines))} characters; with a token: {secret}")
        server.end()
        return int(let_in or not unchanged or not alive or secret)


if __name__ == "__main__":
    sys.exit(main())
