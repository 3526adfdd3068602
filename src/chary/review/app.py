"""The web application: pages are shells, and what they show is JSON of the state behind them."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from chary.audit.filling import AnsweredElsewhereError
from chary.review.files import page_sentence
from chary.review.safety import REPORT_POLICY, Safety
from chary.review.state import ConflictError, NotHereError, Workbench
from chary.tables import TableError

Endpoint = Callable[[Request], Awaitable[Response]]
_PAGES = {"/": "start", "/audit": "audit", "/truth": "truth", "/review": "review", "/result": "result"}
_ASSETS = {
    "review.js": "text/javascript; charset=utf-8",
    "review.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_CONTENT = {"labels": "application/octet-stream", "model": "application/octet-stream", "report": "text/html"}


def create_app(bench: Workbench, token: str, port: int) -> Safety:
    """The application behind its rules, for whoever shows the token at this port."""
    read = {
        "/api/state": lambda query: bench.state(),
        "/api/start": lambda query: bench.start_page(),
        "/api/audit": lambda query: bench.audit_page(_place(query), query.get("all") == "true"),
        "/api/truth": lambda query: bench.truth_page(),
        "/api/doubt": bench.doubt_page,
        "/api/result": bench.result_page,
    }
    written = {
        "/api/settings": (bench.change, "/api/start"),
        "/api/audit/draw": (bench.draw, "/api/audit"),
        "/api/audit": (bench.answer, "/api/audit"),
        "/api/accept": (bench.accept, "/api/truth"),
        "/api/doubt": (bench.check, "/api/doubt"),
        "/api/learn": (bench.relearn, "/api/state"),
        "/api/write": (bench.write, "/api/result"),
    }
    routes = [Route(path, _page(bench, name)) for path, name in _PAGES.items()]
    routes += [Route(f"/assets/{name}", _asset(name)) for name in _ASSETS]
    routes += [Route(path, _reading(show)) for path, show in read.items()]
    routes += [
        Route(path, _writing(write, read[shown]), methods=["POST"]) for path, (write, shown) in written.items()
    ]
    routes += [Route(f"/download/{kind}", _download(bench, kind)) for kind in _CONTENT]
    routes.append(Route("/report", _report(bench)))
    app = Starlette(routes=routes, exception_handlers={404: _not_found, 405: _not_found, Exception: _mistake})
    return Safety(app, token, port)


@cache
def templates() -> Environment:
    """The shells of the pages."""
    loader = PackageLoader("chary.review")
    return Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _page(bench: Workbench, name: str) -> Endpoint:
    async def page(request: Request) -> Response:
        if name == "review" and bench.job.kind != "label":
            return _error(404, "There is no such page here.")
        context = {"page": name, "name": bench.job.table.name, "target": bench.job.target, "kind": bench.job.kind}
        shell = templates().get_template(f"{name}.html").render(**context)
        return Response(shell.encode("utf-8", "backslashreplace"), media_type="text/html")

    return page


def _asset(name: str) -> Endpoint:
    content = files("chary.review").joinpath("assets", name)

    async def asset(request: Request) -> Response:
        return Response(content.read_bytes(), media_type=_ASSETS[name])

    return asset


def _reading(show: Callable[[Mapping[str, str]], dict[str, Any]]) -> Endpoint:
    async def reading(request: Request) -> Response:
        query = {key[:100]: value[:2000] for key, value in request.query_params.items()}
        return await run_in_threadpool(_answered, lambda: show(query), None)

    return reading


def _writing(
    write: Callable[[Mapping[str, Any]], dict[str, Any]], show: Callable[[Mapping[str, str]], dict[str, Any]]
) -> Endpoint:
    async def writing(request: Request) -> Response:
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError):
            return _error(400, "What was sent is no JSON.")
        if not isinstance(body, dict):
            return _error(400, "What was sent is no JSON object.")
        return await run_in_threadpool(_answered, lambda: write(body), lambda: show({}))

    return writing


def _answered(answer: Callable[[], Any], now: Callable[[], Any] | None) -> Response:
    """What was asked for, or one sentence; where something has changed meanwhile, with what it is now."""
    try:
        return _json(answer())
    except NotHereError as error:
        return _error(404, page_sentence(error))
    except (ConflictError, AnsweredElsewhereError) as error:
        fresh = None
        if now is not None:
            try:
                fresh = now()
            except (ValueError, OSError):
                fresh = None
        return _json({"error": page_sentence(error), "now": fresh}, 409)
    except TableError as error:
        return _error(400, page_sentence(error))
    except (ValueError, OSError, MemoryError) as error:
        return _error(503, page_sentence(error))


def _download(bench: Workbench, kind: str) -> Endpoint:
    async def download(request: Request) -> Response:
        try:
            path = await run_in_threadpool(bench.file, kind)
        except NotHereError as error:
            return _error(404, page_sentence(error))
        return FileResponse(path, media_type=_CONTENT[kind], filename=path.name)

    return download


def _report(bench: Workbench) -> Endpoint:
    async def report(request: Request) -> Response:
        try:
            path = await run_in_threadpool(bench.file, "report")
        except NotHereError as error:
            return _error(404, page_sentence(error))
        return FileResponse(path, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})

    return report


def _place(query: Mapping[str, str]) -> int | None:
    text = query.get("place", "")
    if not text:
        return None
    if not text.isdecimal() or len(text) > 9:
        raise TableError("Which row is meant is a whole number.")
    return int(text)


def _json(content: Any, status: int = 200) -> Response:
    return JSONResponse(_finite(content), status)


def _error(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)


async def _not_found(request: Request, error: Exception) -> Response:
    return _error(getattr(error, "status_code", 404), "There is no such page here.")


async def _mistake(request: Request, error: Exception) -> Response:
    return _error(503, page_sentence(error))


def _finite(value: Any) -> Any:
    """Numbers that JSON has not are null."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
