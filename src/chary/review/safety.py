"""Who may ask: requests of the person at this machine are let in, all others are refused in one line.

A server on this machine can be reached by every page that a browser shows and by every user of the machine. What
keeps them out:

- ``Host`` must be 127.0.0.1 or localhost with this very port: a name that somebody else's server gave out for this
  address (DNS rebinding) is refused.
- Whoever opens the page shows a random token once. It is exchanged for a cookie that scripts cannot read and other
  sites do not send, and the address with the token is left. The token is compared in constant time, never logged,
  and no command line holds it: the browser is given a file that only this user can read (see ``app.serve``).
- What changes something is a POST of JSON from this very origin, as the browser itself says, of bounded size.
- No answer may be framed, sniffed, stored, read by other origins, or load anything from elsewhere.
"""

from __future__ import annotations

import hmac
import logging
import secrets

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chary._words import visible

LOG = logging.getLogger("chary.review")
MOST_BYTES = 1 << 20  # of what a page sends
_COMMON = "default-src 'none'; img-src 'self'; base-uri 'none'; frame-ancestors 'self'"
_PAGE_POLICY = (
    f"{_COMMON}; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'"
)
# A report has its style within, and runs nothing.
REPORT_POLICY = f"{_COMMON}; style-src 'unsafe-inline'; form-action 'none'"
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "SAMEORIGIN",
    "content-security-policy": _PAGE_POLICY,
}
_WELCOME = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/">'
    '<link rel="icon" href="/assets/icon.svg"><title>chary</title></head><body><p><a href="/">Go on</a></p></body>'
    "</html>"
)


class Safety:
    """An application behind these rules.

    Parameters
    ----------
    app : ASGI application
    token : str
        What the address that is opened first holds.
    port : int
        That the server listens at.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self._token, self._session = app, token, secrets.token_urlsafe(32)
        at = "" if port == 80 else f":{port}"  # as browsers leave it out
        self.hosts = {f"127.0.0.1{at}", f"localhost{at}"}
        self.cookie = f"chary_{port}"  # a cookie is for all ports of a host: two pages must not share one

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse; either way with the headers that keep an answer to itself."""
        if scope["type"] != "http":
            LOG.warning("refused a connection of type %s", visible(scope["type"], 20))
            return
        why = ""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if message["status"] >= 400:  # one line, without anything that was sent but the path
                    method, path = visible(scope["method"], 10), visible(scope["path"], 80)
                    LOG.warning("%d %s %s%s", message["status"], method, path, why)
            await send(message)

        try:
            app = self._let_in(Request(scope))
        except HTTPException as refusal:
            why = f": {refusal.detail}"
            app = JSONResponse({"error": refusal.detail}, refusal.status_code)
        await app(scope, receive, send_safely)

    def _let_in(self, request: Request) -> ASGIApp:
        """The application, or for whoever shows the token a welcome with the cookie; others are refused."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            raise HTTPException(403, "Open the address that the command printed.")
        if request.method not in ("GET", "HEAD", "POST"):
            raise HTTPException(405, "This request is not allowed.")
        token = request.query_params.get("token")
        if request.method == "GET" and request.scope["path"] == "/" and token is not None:
            if not _same(token, self._token):
                raise HTTPException(403, "The address is not the one that the command printed.")
            welcome = HTMLResponse(_WELCOME)
            welcome.set_cookie(self.cookie, self._session, httponly=True, samesite="strict")
            return welcome
        if not _same(request.cookies.get(self.cookie, ""), self._session):
            raise HTTPException(403, "Open the address that the command printed.")
        self._check_origin(request)
        return self.app

    def _check_origin(self, request: Request) -> None:
        """Refuse what another page asks for."""
        headers = request.headers
        site, origin = headers.get("sec-fetch-site", "").lower(), headers.get("origin", "").lower()
        if request.method != "POST":
            if site not in ("", "none", "same-origin"):
                raise HTTPException(403, "Another page asked for this one.")
            return
        own = origin in {f"http://{host}" for host in self.hosts}
        if site not in ("", "same-origin") or not (own or (site and not origin)):
            raise HTTPException(403, "Another page tried to write.")
        if headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise HTTPException(400, "Only JSON is accepted.")


async def read_body(request: Request) -> bytes:
    """All that was sent, unless it is too much."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                raise HTTPException(413, "The answer is too long.")
    except ClientDisconnect:
        raise HTTPException(400, "The request did not arrive as a whole.") from None
    return bytes(body)


def _same(given: str, expected: str) -> bool:
    """Whether two secrets are the same, in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
