"""The server behind the pages: addresses, errors as one sentence, who may ask, and how it starts and ends.

Pages are empty shells; what they show is JSON from the functions of the page modules.

Requests of the person at this machine are let in, all others are refused in one line.

A server on this machine can be reached by every page that a browser shows and by every user of the
machine. What keeps them out:

- ``Host`` must be 127.0.0.1 or localhost with this very port: a name that somebody else's server gave out for this
  address (DNS rebinding) is refused.
- Whoever opens the page shows a random token once. It is exchanged for a cookie that scripts cannot read and other
  sites do not send, and the address with the token is left. The token is compared in constant time,
  never logged, and no command line holds it: the browser is given a file that only this user can
  read (see ``serve``).
- What changes something is a POST of JSON from this very origin, as the browser itself says, of bounded size.
- No answer may be framed, sniffed, stored, read by other origins, or load anything from elsewhere.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import signal
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from html import escape
from importlib.resources import files
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chary._words import visible
from chary.audit.filling import AnsweredElsewhereError
from chary.report import templates_of
from chary.review.audit import answer, audit_page, draw_more
from chary.review.doubt import check, doubt_page
from chary.review.result import output_file, result_page, write
from chary.review.start import choose_kind, choose_labels, overview, relearn, start_page
from chary.review.state import ConflictError, NotHereError, Page, Workbench, page_sentence
from chary.review.truth import accept, truth_page
from chary.tables import TableError

LOG = logging.getLogger("chary.review")
MOST_POSTED = 1 << 20  # of what a page sends
_COMMON = "default-src 'none'; img-src 'self'; base-uri 'none'; frame-ancestors 'self'"
_PAGE_POLICY = f"{_COMMON}; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'"
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
_LEADING_TO = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0;url={url}"><link rel="icon" href="/assets/icon.svg">'
    '<title>chary</title></head><body><p><a href="{url}">Open the page</a></p></body></html>'
)
HOST = "127.0.0.1"
# In the order of the steps at the top of each; a template of that name shows it. Those that are
# filled here get what /api/NAME says; review.js fills the others.
PAGES = {
    "/": "start",
    "/audit": "audit",
    "/truth": "truth",
    "/review": "review",
    "/result": "result",
}
_FILLED = ("truth", "result")
READS: dict[str, Page] = {
    "/api/state": overview,
    "/api/start": start_page,
    "/api/audit": audit_page,
    "/api/truth": truth_page,
    "/api/doubt": doubt_page,
    "/api/result": result_page,
}
WRITES: dict[str, Page] = {
    "/api/kind": choose_kind,
    "/api/labels": choose_labels,
    "/api/audit/draw": draw_more,
    "/api/audit": answer,
    "/api/accept": accept,
    "/api/doubt": check,
    "/api/learn": relearn,
    "/api/write": write,
}
_TO_CHOOSE = (
    "/",
    "/api/state",
    "/api/start",
    "/api/labels",
)  # all there is until the labels are chosen
_TO_LABEL = ("/review", "/api/doubt", "/api/kind")  # what there is not where labels are judged
_ASSETS = {
    "/assets/review.js": "text/javascript; charset=utf-8",
    "/assets/review.css": "text/css; charset=utf-8",
    "/assets/icon.svg": "image/svg+xml",
}
_STATUS = {
    NotHereError: 404,
    ConflictError: 409,
    AnsweredElsewhereError: 409,
    TableError: 400,
    Exception: 503,
}


def create_app(bench: Workbench, token: str, port: int) -> Safety:
    """The application behind its rules, for whoever shows the token at this port."""

    def has(path: str) -> bool:
        kind = bench.job.kind
        if kind == "choose":
            return path in _TO_CHOOSE
        return path != "/api/labels" and (kind == "label" or path not in _TO_LABEL)

    def ask(
        functions: Mapping[str, Page], path: str, asked: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        function = functions[path]
        with (
            nullcontext() if function is write else bench.lock
        ):  # answers go on while files are written
            if not has(path):
                raise NotHereError("There is no such page here.")
            if functions is WRITES:
                bench.require_unchanged()
            return function(bench, asked)

    async def page(request: Request) -> Response:
        path, job = request.scope["path"], bench.job
        if not has(path):
            raise NotHereError("There is no such page here.")
        pages = {address: name for address, name in PAGES.items() if has(address)}
        name = "choose" if job.kind == "choose" else pages[path]
        context = {
            "page": name,
            "pages": pages,
            "name": job.table.name,
            "target": job.target,
            "kind": job.kind,
        }
        if name in _FILLED:
            context["data"] = await run_in_threadpool(
                ask, READS, f"/api/{name}", request.query_params
            )
            context["state"] = await run_in_threadpool(ask, READS, "/api/state", {})
        shell = templates_of("chary.review").get_template(f"{name}.html").render(**context)
        return Response(shell.encode("utf-8", "backslashreplace"), media_type="text/html")

    async def reading(request: Request) -> Response:
        return JSONResponse(
            await run_in_threadpool(ask, READS, request.scope["path"], request.query_params)
        )

    async def writing(request: Request) -> Response:
        body = await read_body(request)
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            raise HTTPException(400, "What was sent is no JSON object.")
        return JSONResponse(await run_in_threadpool(ask, WRITES, request.scope["path"], asked))

    async def download(request: Request) -> Response:
        path = output_file(bench, request.path_params["kind"])
        return FileResponse(path, media_type="application/octet-stream", filename=path.name)

    async def report(request: Request) -> Response:
        headers = {"content-security-policy": REPORT_POLICY}
        return FileResponse(output_file(bench, "report"), media_type="text/html", headers=headers)

    routes = [Route(path, page) for path in PAGES]
    routes += [Route(path, _asset) for path in _ASSETS]
    routes += [Route(path, reading) for path in READS]
    routes += [Route(path, writing, methods=["POST"]) for path in WRITES]
    routes += [Route("/download/{kind}", download), Route("/report", report)]
    handlers: dict[Any, Any] = dict.fromkeys(
        (ValueError, OSError, MemoryError, Exception), _refused
    )
    handlers[HTTPException] = _http_error
    return Safety(Starlette(routes=routes, exception_handlers=handlers), token, port)


async def _refused(request: Request, error: Exception) -> Response:
    status = next(status for kind, status in _STATUS.items() if isinstance(error, kind))
    return JSONResponse({"error": page_sentence(error)}, status)


async def _asset(request: Request) -> Response:
    content = files("chary.review").joinpath(request.scope["path"].lstrip("/")).read_bytes()
    return Response(content, media_type=_ASSETS[request.scope["path"]])


async def _http_error(request: Request, error: HTTPException) -> Response:
    unknown = error.status_code in (404, 405)
    sentence = "There is no such page here." if unknown else error.detail
    return JSONResponse({"error": sentence}, error.status_code)


# ------------------------------------------------------------ who may ask


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
        self.cookie = (
            f"chary_{port}"  # a cookie is for all ports of a host: two pages must not share one
        )

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
                if (
                    message["status"] >= 400
                ):  # one line, without anything that was sent but the path
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
            welcome = HTMLResponse(_LEADING_TO.format(url="/"))
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
    """All that was sent, unless it is too much, or is said to be: the rest may never come."""
    body = bytearray()
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > MOST_POSTED:
        raise HTTPException(413, "The answer is too long.")
    try:
        async for part in request.stream():
            body += part
            if len(body) > MOST_POSTED:
                raise HTTPException(413, "The answer is too long.")
    except ClientDisconnect:
        raise HTTPException(400, "The request did not arrive as a whole.") from None
    return bytes(body)


def _same(given: str, expected: str) -> bool:
    """Whether two secrets are the same, in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


# ------------------------------------------------------------ start and end


def serve(
    bench: Workbench,
    port: int = 0,
    *,
    browser: bool = True,
    opened: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve the pages until a signal ends them; ``opened`` is told the address, with its token, once it answers.

    The browser is not given the address, which would stand in the list of processes for every user
    of the machine to read, but a file in a folder of this user alone that leads there.
    """
    bound = _bind(port)
    port, token = bound.getsockname()[1], secrets.token_urlsafe(32)
    url = f"http://{HOST}:{port}/?token={token}"
    app = create_app(bench, token, port)
    quiet: dict[str, Any] = {
        "log_config": None,
        "access_log": False,
        "lifespan": "off",
        "server_header": False,
    }
    server = _Server(uvicorn.Config(app, timeout_graceful_shutdown=2, **quiet))
    _log_to_the_error_stream()
    with _door(url) as door, server.capture_signals():
        bench.learn()
        opened(url)
        if browser:
            Thread(target=webbrowser.open, args=(door.as_uri(),), daemon=True).start()
        server.run(sockets=[bound])
    bench.close()


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ctrl-C, a request to terminate or a closed terminal ends the server once it has done what it is doing.

        They are not raised again, so that the command can say something at the end.
        """
        names = ("SIGINT", "SIGTERM", "SIGHUP") if current_thread() is main_thread() else ()
        numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
        before: dict[Any, Any] = {
            number: signal.signal(number, self.handle_exit) for number in numbers
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _bind(port: int) -> socket.socket:
    try:
        bound = socket.create_server((HOST, port))
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        raise TableError(f"Port {port} cannot be used ({why}); choose another.") from None
    # Its connections send at once; otherwise each answer waits 40 ms for an acknowledgement.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


@contextmanager
def _door(url: str) -> Iterator[Path]:
    """A page in a folder that only this user can read, which leads to the address; gone when the server is."""
    with tempfile.TemporaryDirectory(
        prefix="chary-review-", ignore_cleanup_errors=True
    ) as folder:  # of mode 0700
        path = Path(folder) / "open.html"
        path.touch(0o600)
        path.write_text(_LEADING_TO.format(url=escape(url)), encoding="utf-8")
        yield path


def _log_to_the_error_stream() -> None:
    """A refused request is one line; nothing else is said while pages are shown."""
    if not LOG.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
        LOG.addHandler(handler)
        LOG.propagate = False
