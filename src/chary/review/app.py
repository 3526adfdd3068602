"""The addresses of the pages; whatever goes wrong is one sentence.

The pages are shells without data. What they show is JSON from the functions of the page modules,
filled in by ``review.js`` or, on two pages, by the server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from chary.audit import AnsweredElsewhereError
from chary.report import templates_of
from chary.review.audit_page import answer, audit_page, draw_more
from chary.review.errors import ConflictError, NotHereError, page_sentence
from chary.review.jobs import CHOOSE, JUDGE, LABEL
from chary.review.result_page import output_file, result_page, write
from chary.review.review_page import check, review_page
from chary.review.safety import REPORT_POLICY, Safety
from chary.review.start_page import (
    choose_header_row,
    choose_kind,
    choose_labels,
    choose_reading,
    choose_same,
    overview,
    relearn,
    start_page,
)
from chary.review.truth_page import accept, truth_page
from chary.review.workbench import Page, Query, Workbench

# A page may send at most this many bytes at once: a mebibyte.
MOST_POSTED = 1 << 20

# The pages in the order of their steps: address and name of the template.
PAGES = {
    "/": "start",
    "/audit": "audit",
    "/truth": "truth",
    "/review": "review",
    "/result": "result",
}
# The pages that the server fills with what /api/NAME answers; the others are filled by a script.
_FILLED = ("truth", "result")
# The function that answers a request to read at each address.
READS: dict[str, Page] = {
    "/api/state": overview,
    "/api/start": start_page,
    "/api/audit": audit_page,
    "/api/truth": truth_page,
    "/api/review": review_page,
    "/api/result": result_page,
}
# The function that makes the change which a request asks for, and answers it, at each address.
WRITES: dict[str, Page] = {
    "/api/kind": choose_kind,
    "/api/labels": choose_labels,
    "/api/same": choose_same,
    "/api/reading": choose_reading,
    "/api/header": choose_header_row,
    "/api/audit/draw": draw_more,
    "/api/audit": answer,
    "/api/accept": accept,
    "/api/review": check,
    "/api/learn": relearn,
    "/api/write": write,
}
# The only addresses until the labels are chosen.
_WHILE_CHOOSING = ("/", "/api/state", "/api/start", "/api/labels", "/api/header")
# Addresses that a job does not have.
_NOT_FOR = {
    LABEL: ("/api/labels",),
    JUDGE: (
        "/api/labels",
        "/review",
        "/api/review",
        "/api/kind",
        "/api/same",
        "/api/reading",
    ),
}
_ASSETS = {
    "/assets/review.js": "text/javascript; charset=utf-8",
    "/assets/review.css": "text/css; charset=utf-8",
    "/assets/icon.svg": "image/svg+xml",
}
# The HTTP status for an error: the first class of which it is an instance counts.
_STATUS = {
    NotHereError: 404,
    ConflictError: 409,
    AnsweredElsewhereError: 409,
    ValueError: 400,
    Exception: 503,
}


def create_app(bench: Workbench, token: str, port: int) -> Safety:
    """Build the application for the person who has the token."""
    answers = _Answers(bench)
    routes = [
        *(Route(path, answers.page) for path in PAGES),
        *(Route(path, _asset) for path in _ASSETS),
        *(Route(path, answers.get) for path in READS),
        *(Route(path, answers.post, methods=["POST"]) for path in WRITES),
        Route("/download/{kind}", answers.download),
        Route("/report", answers.report),
    ]
    handlers: dict[Any, Any] = {HTTPException: _http_error}
    # Starlette logs an Exception that no more exact handler takes.
    for error in (ValueError, OSError, MemoryError, Exception):
        handlers[error] = _failure
    return Safety(Starlette(routes=routes, exception_handlers=handlers), token, port)


class _Answers:
    """The answers to requests, from the state of a workbench."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench

    def page(self, request: Request) -> Response:
        """Answer with a page: a template, which for some pages the server fills with figures."""
        path = request.scope["path"]
        self._require(path)
        job = self.bench.job
        name = CHOOSE if job.kind == CHOOSE else PAGES[path]
        context = {
            "page": name,
            "pages": {address: step for address, step in PAGES.items() if self._has(address)},
            "name": job.table.name,
            "target": job.target,
            "kind": job.kind,
        }
        if name in _FILLED:
            context["data"] = self._read(f"/api/{name}", request.query_params)
            context["state"] = self._read("/api/state", {})
        shell = templates_of("chary.review").get_template(f"{name}.html").render(context)
        # Half of a character pair, which UTF-8 lacks, is spelled out.
        return HTMLResponse(shell.encode("utf-8", "backslashreplace"))

    def get(self, request: Request) -> Response:
        """Answer with what a page shows, as JSON."""
        return JSONResponse(self._read(request.scope["path"], request.query_params))

    async def post(self, request: Request) -> Response:
        """Make the change that a page sends as JSON; answer with what the page then shows."""
        content = await read_body(request)
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise HTTPException(400, "What was sent is no JSON object.")
        return JSONResponse(await run_in_threadpool(self._change, request.scope["path"], body))

    def download(self, request: Request) -> Response:
        """Answer with a file to save."""
        path = output_file(self.bench, request.path_params["kind"])
        return FileResponse(path, media_type="application/octet-stream", filename=path.name)

    def report(self, request: Request) -> Response:
        """Answer with the report, which is a page of its own."""
        headers = {"content-security-policy": REPORT_POLICY}
        path = output_file(self.bench, "report")
        return FileResponse(path, media_type="text/html", headers=headers)

    def _read(self, path: str, query: Query) -> Mapping[str, Any]:
        """Look up what a page shows."""
        with self.bench.lock:
            self._require(path)
            return READS[path](self.bench, query)

    def _change(self, path: str, body: dict[str, Any]) -> Mapping[str, Any]:
        """Make a change; return what the page then shows."""
        # Writing the files takes long, so it does without the lock: answers are taken meanwhile.
        with nullcontext() if path == "/api/write" else self.bench.lock:
            self._require(path)
            # An answer to a table that was changed may be about another row.
            self.bench.require_unchanged()
            return WRITES[path](self.bench, body)

    def _has(self, path: str) -> bool:
        """Tell whether the present job has an address."""
        kind = self.bench.job.kind
        if kind == CHOOSE:
            return path in _WHILE_CHOOSING
        return path not in _NOT_FOR[kind]

    def _require(self, path: str) -> None:
        """Refuse an address that the present job does not have."""
        if not self._has(path):
            raise NotHereError("There is no such page here.")


async def read_body(request: Request) -> bytes:
    """Read the body of a request; refuse one that is too long.

    It is refused at once if a header says that it is too long, otherwise as soon as it has become
    so.
    """
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > MOST_POSTED:
        raise HTTPException(413, "The answer is too long.")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_POSTED:
                raise HTTPException(413, "The answer is too long.")
    except ClientDisconnect:
        raise HTTPException(400, "The request did not arrive as a whole.") from None
    return bytes(body)


def _asset(request: Request) -> Response:
    """Answer with a script, a style or an icon."""
    path = request.scope["path"]
    content = files("chary.review").joinpath(path.lstrip("/")).read_bytes()
    return Response(content, media_type=_ASSETS[path])


async def _failure(request: Request, error: Exception) -> Response:
    """Answer with the sentence of an error."""
    # Every error is an ``Exception``, the last of these classes.
    statuses = [status for kind, status in _STATUS.items() if isinstance(error, kind)]
    return JSONResponse({"error": page_sentence(error)}, statuses[0])


async def _http_error(request: Request, error: HTTPException) -> Response:
    """Answer with the sentence of a refusal."""
    sentence = error.detail
    if error.status_code in (404, 405):
        sentence = "There is no such page here."
    return JSONResponse({"error": sentence}, error.status_code)
