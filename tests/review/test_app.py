"""The addresses of the server: fixed ones alone, one sentence for errors, cells as they are."""

import asyncio
import json
import logging

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from chary.options import ReviewOptions
from chary.review import begin
from chary.review.app import MOST_POSTED, read_body

JSON = {"content-type": "application/json", "sec-fetch-site": "same-origin"}


def test_every_page_is_a_shell_of_the_table(browser):
    for path in ("/", "/audit", "/truth", "/review", "/result"):
        answer = browser.client.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/html")
        assert "animals.csv" in answer.text
    assert (
        browser.client.get("/assets/review.js")
        .headers["content-type"]
        .startswith("text/javascript")
    )
    assert browser.client.get("/assets/review.css").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../workbench.py",
        "/assets/%2e%2e/workbench.py",
        "/assets/..%2fworkbench.py",
        "/assets/review.js/../../app.py",
        "/download/../../etc/passwd",
        "/download/%2fetc%2fpasswd",
        "/download/kept",
        "/download/animals.csv",
        "/templates/base.html",
        "/report/x",
        "//etc/passwd",
        "/api/nothing",
    ],
)
def test_no_path_comes_from_the_client(browser, path):
    answer = browser.client.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"].startswith("There is no such ")


@pytest.mark.parametrize(
    "path", ["/download/labels", "/download/model", "/download/report", "/report"]
)
def test_files_that_are_not_there_yet_are_said(browser, path):
    assert browser.client.get(path).json() == {"error": "There is no such file yet."}


WRITES = ["kind", "labels", "audit/draw", "audit", "review", "write"]


@pytest.mark.parametrize("path", WRITES)
@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "3", "[" * 100_000, '{"a": NaN}', "{}", '{"k": "30"}', '{"row": null}'],
)
def test_whatever_is_sent_ends_in_a_sentence(browser, path, content):
    answer = browser.client.post(f"/api/{path}", content=content, headers=JSON)
    assert answer.status_code in (400, 404, 409), answer.text
    assert answer.json()["error"].endswith(".")
    assert sorted(file.name for file in browser.bench.paths.labels.parent.iterdir()) == [
        "animals.csv"
    ]


@pytest.mark.parametrize(
    "query", ["audit?place=x", "audit?place=-1", "audit?place=99", "review?row=0"]
)
def test_bad_questions_too(browser, query):
    browser.post("/api/audit/draw", k=3)
    answer = browser.client.get(f"/api/{query}")
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")


def test_reading_by_post_and_writing_by_get_are_not_there(browser):
    assert browser.client.get("/api/learn").status_code == 405
    assert browser.client.post("/api/state", content="{}", headers=JSON).status_code == 405


def test_what_is_refused_is_logged_in_one_line_without_what_was_sent(browser, caplog):
    browser.post("/api/audit/draw", k=3)
    with caplog.at_level(logging.WARNING, "chary.review"):
        browser.post("/api/audit", 400, place=1, answer="unknown")
        browser.client.get("/api/nothing?cell=secret")
    assert [record.getMessage() for record in caplog.records] == [
        "400 POST /api/audit",
        "404 GET /api/nothing",
    ]


def test_a_body_is_bounded_whatever_it_says(browser):
    for content in (
        b"x" * (MOST_POSTED + 1),
        (b"x" * 65536 for _ in range(17)),
    ):  # of the second no length is told
        answer = browser.client.post("/api/audit", content=content, headers=JSON)
        assert (answer.status_code, answer.json()) == (413, {"error": "The answer is too long."})
    assert (
        browser.client.post("/api/audit", content=b" " * MOST_POSTED, headers=JSON).status_code
        == 400
    )
    promised = {**JSON, "content-length": str(MOST_POSTED + 1)}  # what is promised may never come
    assert browser.client.post("/api/audit", content=b"{}", headers=promised).status_code == 413


def test_a_body_that_breaks_off_is_refused():
    async def gone():
        return {"type": "http.disconnect"}

    with pytest.raises(HTTPException, match="as a whole"):
        asyncio.run(read_body(Request({"type": "http", "headers": []}, gone)))


def test_a_mistake_of_chary_is_one_sentence(browser, monkeypatch):
    monkeypatch.setattr(browser.bench, "job", None)
    browser.client = type(browser.client)(
        browser.client.app,
        base_url=browser.client.base_url,
        raise_server_exceptions=False,
        cookies=browser.client.cookies,
    )
    answer = browser.client.get("/api/state")
    assert answer.status_code == 503
    assert "A mistake in chary itself" in answer.json()["error"]


def test_cells_are_texts_in_json_whatever_they_hold(tmp_path, enter):
    cell = "<img src=x onerror=alert(1)>\u202e=1+1\u2028</script>"
    rows = [{"x": f"{cell}{i % 3}", "z": i, "y": "ab"[i % 2] if i % 5 else None} for i in range(60)]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    browser = enter(begin([str(path)], ReviewOptions(target="y")))
    fields = browser.post("/api/audit/draw", k=3)["row"]["fields"]
    assert {field["name"]: field["text"][:-1] for field in fields}["x"] == cell
    assert "<img" not in browser.client.get("/").text
