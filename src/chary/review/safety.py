"""Who may ask: requests of the person at this machine are let in, all others are refused in one line.

A server on this machine can be reached by every page that a browser shows and by every user of the machine. What
keeps them out:

- ``Host`` must be 127.0.0.1 or localhost with this very port: a name that somebody else's server gave out for this
  address (DNS rebinding) is refused.
- Who opens the page shows a random token once; it is exchanged for a cookie that scripts cannot read and other
  sites do not send, and the address with the token is left. The token is compared in constant time, never logged,
  and no command line holds it: the browser is given a file that only this user can read (see ``serving``).
- What changes something is a POST of JSON from this very origin, as the browser itself says, of bounded size.
- Nothing that is answered may be framed, sniffed, stored, read by other origins, or load anything from elsewhere.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from chary._words import visible

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOG = logging.getLogger("chary.review")
MOST_BYTES = 1 << 20
MOST_WRITES = 16  # that wait for each other
_PATIENCE = 30.0  # seconds for a body to arrive
_COMMON = "default-src 'none'; img-src 'self'; base-uri 'none'; frame-ancestors 'self'"
PAGE_POLICY = (
    f"{_COMMON}; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'"
)
REPORT_POLICY = (
    f"{_COMMON}; style-src 'unsafe-inline'; form-action 'none'"  # a report styles itself, and runs nothing
)
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"SAMEORIGIN"),
]
_WELCOME = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/">'
    '<link rel="icon" href="/assets/icon.svg"><title>chary</title></head><body><p><a href="/">Go on</a></p></body>'
    "</html>"
)


class Refusal(Exception):  # noqa: N818
    """A request that is not answered: its status, and the sentence that says why."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class Safety:
    """The server behind these rules.

    Parameters
    ----------
    app : ASGI application
    token : str
        What the address that is opened first holds.
    port : int
        That the server listens at.
    """

    def __init__(self, app: App, token: str, port: int) -> None:
        self.app, self._token = app, token.encode()
        at = "" if port == 80 else f":{port}"  # as browsers leave it out
        self.hosts = {f"127.0.0.1{at}".encode(), f"localhost{at}".encode()}
        self.cookie = f"chary_{port}"  # a cookie is for all ports of a host: two pages must not share one
        self._session = secrets.token_urlsafe(32).encode()
        self._writes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            LOG.warning("refused a connection of type %s", visible(scope["type"], 20))
            return
        try:
            if self._is_first(scope):
                await _answer(send, 200, _WELCOME, b"text/html; charset=utf-8", [self._set_cookie()])
                return
            self._check(scope)
            if scope["method"] == "POST":
                await self._write(scope, receive, send)
            else:
                await self.app(scope, receive, _with_headers(_logged(send, scope)))
        except Refusal as refusal:
            _log(scope, refusal.status, refusal.sentence)
            body = json.dumps({"error": refusal.sentence})
            await _answer(send, refusal.status, body, b"application/json", [])

    def _is_first(self, scope: Scope) -> bool:
        """Whether the request shows the token; a wrong one is refused."""
        self._check_host(scope)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise Refusal(405, "Only pages are read here, and answers written.")
        if scope["path"] != "/" or scope["method"] != "GET" or not scope.get("query_string"):
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")[:500]).get("token")
        if given is None:
            return False
        if not hmac.compare_digest(given[0].encode("utf-8", "replace"), self._token):
            raise Refusal(403, "The address is not the one that the command printed.")
        return True

    def _check_host(self, scope: Scope) -> None:
        hosts = [value.lower() for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            raise Refusal(403, "The page is at 127.0.0.1 alone, under the address that the command printed.")

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        if not self._has_cookie(scope):
            raise Refusal(403, "Open the address that the command printed.")
        site = headers.get(b"sec-fetch-site", b"").lower()
        if scope["method"] != "POST":
            if site not in (b"", b"none", b"same-origin"):
                raise Refusal(403, "Another page asked for this one.")
            return
        origin = headers.get(b"origin", b"").lower()
        if site and site != b"same-origin":
            raise Refusal(403, "Another page tried to write.")
        if (origin or not site) and origin not in {b"http://" + host for host in self.hosts}:
            raise Refusal(403, "Another page tried to write.")
        if headers.get(b"content-type", b"").split(b";")[0].strip().lower() != b"application/json":
            raise Refusal(400, "What is written here is JSON.")

    def _has_cookie(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"cookie"]
        pairs = [pair.strip().partition(b"=") for value in given for pair in value.split(b";")]
        own = [value for name, _, value in pairs if name == self.cookie.encode()]
        return sum(hmac.compare_digest(value, self._session) for value in own) > 0

    def _set_cookie(self) -> tuple[bytes, bytes]:
        value = f"{self.cookie}={self._session.decode()}; HttpOnly; SameSite=Strict; Path=/"
        return b"set-cookie", value.encode()

    async def _write(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read all of a body that is not too large, then hand it on; few at a time."""
        if self._writes >= MOST_WRITES:
            raise Refusal(503, "Too much is written at once; try again.")
        self._writes += 1
        try:
            body = await _read(scope, receive)
            sent = False

            async def again() -> Message:
                nonlocal sent
                if sent:
                    return {"type": "http.disconnect"}
                sent = True
                return {"type": "http.request", "body": body, "more_body": False}

            await self.app(scope, again, _with_headers(_logged(send, scope)))
        finally:
            self._writes -= 1


async def _read(scope: Scope, receive: Receive) -> bytes:
    told = dict(scope["headers"]).get(b"content-length", b"0")
    if not told.isdigit() or int(told) > MOST_BYTES:
        raise Refusal(413, "An answer is not that long.")
    parts, size = [], 0
    while True:
        try:
            message = await asyncio.wait_for(receive(), _PATIENCE)
        except TimeoutError:
            raise Refusal(400, "The request did not arrive as a whole.") from None
        if message["type"] != "http.request":
            raise Refusal(400, "The request did not arrive as a whole.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST_BYTES:
            raise Refusal(413, "An answer is not that long.")
        if not message.get("more_body"):
            return b"".join(parts)


def _log(scope: Scope, status: int, sentence: str = "") -> None:
    """One line, without anything that was sent but the path."""
    words = f": {sentence}" if sentence else ""
    LOG.warning("%d %s %s%s", status, visible(scope["method"], 10), visible(scope["path"], 80), words)


def _logged(send: Send, scope: Scope) -> Send:
    """An answer that refuses something is a line, too."""

    async def send_and_log(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 400:
            _log(scope, message["status"])
        await send(message)

    return send_and_log


def _with_headers(send: Send) -> Send:
    """The headers that go with every answer; its own policy stays, if it has one."""

    async def send_safely(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = list(message.get("headers", []))
            names = {name.lower() for name, _ in own}
            more = [*_HEADERS, (b"content-security-policy", PAGE_POLICY.encode())]
            message = {**message, "headers": [*own, *((name, value) for name, value in more if name not in names)]}
        await send(message)

    return send_safely


async def _answer(send: Send, status: int, body: str, content: bytes, more: list[tuple[bytes, bytes]]) -> None:
    data = body.encode()
    headers = [(b"content-type", content), (b"content-length", str(len(data)).encode()), *more]
    safely = _with_headers(send)
    await safely({"type": "http.response.start", "status": status, "headers": headers})
    await safely({"type": "http.response.body", "body": data})
