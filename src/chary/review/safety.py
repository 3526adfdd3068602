"""Who may ask: the person at this machine. All others are refused in one line.

Every page that a browser shows and every user of the machine can reach a server on it. What keeps
them out:

- ``Host`` must be 127.0.0.1 or localhost with this very port. The name that another server gave to
  this address (DNS rebinding) is refused.
- The first request shows a random token. It is exchanged for a cookie that scripts cannot read and
  other sites do not send, and the address with the token is left. The token is compared in constant
  time, never logged, and no command line holds it: the browser is given a file that only this user
  can read (see ``serve``).
- A request that changes something is a POST of JSON from this very origin, as the browser itself
  says, of bounded size.
- No answer may be framed, sniffed, stored, read by other origins, or load anything from elsewhere.
"""

from __future__ import annotations

import hmac
import logging
import secrets

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chary._words import visible

LOG = logging.getLogger("chary.review")
_COMMON = "default-src 'none'; img-src 'self'; base-uri 'none'; frame-ancestors 'self'"
_PAGE_POLICY = (
    f"{_COMMON}; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; "
    "form-action 'self'"
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
# A page that leads the browser on to an address, which is not told where the browser came from.
LEADING_TO = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0;url={url}"><link rel="icon" href="/assets/icon.svg">'
    '<title>chary</title></head><body><p><a href="{url}">Open the page</a></p></body></html>'
)


class Safety:
    """An application behind the rules of this module.

    Parameters
    ----------
    app : ASGI application
    token : str
        The secret in the address that is opened first.
    port : int
        The port that the server listens on.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app = app
        self._token = token
        self._session = secrets.token_urlsafe(32)
        suffix = "" if port == 80 else f":{port}"  # browsers leave 80 out
        self.hosts = {f"127.0.0.1{suffix}", f"localhost{suffix}"}
        # A cookie is for all ports of a host: two servers must not share one.
        self.cookie = f"chary_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse a request; every answer gets the headers of this module."""
        if scope["type"] != "http":
            LOG.warning("refused a connection of type %s", visible(scope["type"], 20))
            return
        reason = ""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                # A refused request is logged in one line. Of what was sent, only method and path
                # are in it: the address may hold the token, and the body answers.
                if message["status"] >= 400:
                    method = visible(scope["method"], 10)
                    path = visible(scope["path"], 80)
                    LOG.warning("%d %s %s%s", message["status"], method, path, reason)
            await send(message)

        try:
            app = self._let_in(Request(scope))
        except HTTPException as refusal:
            reason = f": {refusal.detail}"
            app = JSONResponse({"error": refusal.detail}, refusal.status_code)
        await app(scope, receive, send_safely)

    def _let_in(self, request: Request) -> ASGIApp:
        """Return the application that answers a request, or refuse the request.

        A request with the token is answered by a page that sets the cookie and leads to the start;
        any other request needs the cookie, and is answered by the pages.
        """
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            raise HTTPException(403, "Open the address that the command printed.")
        if request.method not in ("GET", "HEAD", "POST"):
            raise HTTPException(405, "This request is not allowed.")

        token = request.query_params.get("token")
        if request.method == "GET" and request.scope["path"] == "/" and token is not None:
            if not _same(token, self._token):
                raise HTTPException(403, "The address is not the one that the command printed.")
            welcome = HTMLResponse(LEADING_TO.format(url="/"))
            welcome.set_cookie(self.cookie, self._session, httponly=True, samesite="strict")
            return welcome

        if not _same(request.cookies.get(self.cookie, ""), self._session):
            raise HTTPException(403, "Open the address that the command printed.")
        self._check_origin(request)
        return self.app

    def _check_origin(self, request: Request) -> None:
        """Refuse a request that a page of another origin made.

        A browser says in the headers Origin and Sec-Fetch-Site which page made a request. A request
        that changes something must come from one of our own pages, and be JSON, which no plain form
        can send.
        """
        headers = request.headers
        site = headers.get("sec-fetch-site", "").lower()
        if request.method != "POST":
            if site not in ("", "none", "same-origin"):
                raise HTTPException(403, "Another page asked for this one.")
            return

        # A browser sends Origin, Sec-Fetch-Site or both, and each that it sends must be our own.
        origin = headers.get("origin", "").lower()
        if origin:
            is_own_origin = origin in {f"http://{host}" for host in self.hosts}
        else:
            is_own_origin = site != ""  # the site, which is checked below, says enough
        if site not in ("", "same-origin") or not is_own_origin:
            raise HTTPException(403, "Another page tried to write.")
        content_type = headers.get("content-type", "").split(";")[0].strip().lower()
        if content_type != "application/json":
            raise HTTPException(400, "Only JSON is accepted.")


def _same(text: str, secret: str) -> bool:
    """Compare a text with a secret, in constant time."""
    return hmac.compare_digest(text.encode("utf-8", "replace"), secret.encode())
