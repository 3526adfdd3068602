"""Who is let in: each rule has a request that breaks it alone, is refused and changes nothing."""

import asyncio
import logging

import pytest
from starlette.testclient import TestClient

import chary.review.safety
from chary.review.safety import Safety

PORT, TOKEN = 5000, "a-token-of-thirty-two-characters"
ORIGIN = f"http://127.0.0.1:{PORT}"
GOOD = {"content-type": "application/json", "sec-fetch-site": "same-origin", "origin": ORIGIN}
called = []


async def app(scope, receive, send):
    """Remembers that it was called, and answers with its own headers."""
    body = (await receive()).get("body", b"") if scope["method"] == "POST" else b""
    called.append((scope["method"], scope["path"], body))
    headers = [(b"content-type", b"text/plain"), *scope.get("more", [])]
    if scope["path"] == "/report":
        headers.append((b"content-security-policy", b"its own"))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"in"})


@pytest.fixture(name="safety")
def rules():
    called.clear()
    return Safety(app, TOKEN, PORT)


@pytest.fixture(name="stranger")
def somebody_without_a_cookie(safety):
    return TestClient(safety, base_url=ORIGIN)


@pytest.fixture(name="friend")
def somebody_with_the_cookie(safety):
    client = TestClient(safety, base_url=ORIGIN)
    assert client.get(f"/?token={TOKEN}").status_code == 200
    return client


def refused(answer, status=403):
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    assert called == []


def test_the_token_is_exchanged_for_a_cookie_and_its_address_left(stranger):
    answer = stranger.get(f"/?token={TOKEN}")
    assert answer.status_code == 200
    assert called == []  # no page is shown at an address with the token
    assert 'http-equiv="refresh" content="0;url=/"' in answer.text
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"chary_{PORT}=")
    for word in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert word in cookie
    assert TOKEN not in cookie
    assert TOKEN not in answer.text
    assert stranger.get("/").text == "in"


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], f"{TOKEN}x", "\u00e9", "%00"])
def test_no_other_token_opens(stranger, token):
    refused(stranger.get("/", params={"token": token} if token else {}))
    refused(stranger.get("/"))


def test_tokens_and_cookies_are_compared_in_constant_time(friend, monkeypatch):
    compared = []
    same = chary.review.safety.hmac.compare_digest
    spied = lambda a, b: compared.append(1) or same(a, b)  # noqa: E731
    monkeypatch.setattr(chary.review.safety.hmac, "compare_digest", spied)
    friend.get("/")
    friend.get("/?token=x")
    assert len(compared) == 2


@pytest.mark.parametrize(
    "path", ["/", "/api/state", "/assets/review.js", "/report", "/download/labels"]
)
def test_nothing_is_shown_without_the_cookie(stranger, path):
    refused(stranger.get(path))
    stranger.cookies.set(f"chary_{PORT}", "x")
    refused(stranger.get(path))
    stranger.cookies.clear()
    # The token is no cookie.
    refused(stranger.get(path, headers={"cookie": f"chary_{PORT}={TOKEN}"}))


def test_another_server_of_this_machine_has_another_cookie(safety):
    assert safety.cookie != Safety(app, TOKEN, PORT + 1).cookie
    assert safety._session != Safety(app, TOKEN, PORT)._session


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1",
        f"127.0.0.1:{PORT + 1}",
        f"127.0.0.1.evil.example:{PORT}",
        f"0.0.0.0:{PORT}",
        "",
    ],
)
def test_the_host_must_be_this_very_one(friend, stranger, host):
    refused(friend.get("/api/state", headers={"host": host}))
    refused(friend.post("/api/learn", content="{}", headers={**GOOD, "host": host}))
    refused(stranger.get(f"/?token={TOKEN}", headers={"host": host}))


def test_localhost_is_this_machine(friend, stranger):
    assert friend.get("/", headers={"host": f"localhost:{PORT}"}).text == "in"
    assert Safety(app, TOKEN, 80).hosts == {"127.0.0.1", "localhost"}


def test_two_hosts_are_none(safety, friend):
    name, value = next(iter(friend.cookies.items()))
    hosts = [(b"host", b"127.0.0.1:5000"), (b"host", b"evil.example")]
    scope = {"type": "http", "method": "GET", "path": "/api/state", "query_string": b""}
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(
        safety({**scope, "headers": [*hosts, (b"cookie", f"{name}={value}".encode())]}, None, send)
    )
    assert sent[0]["status"] == 403
    assert called == []


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site", "origin": ORIGIN},
        {"sec-fetch-site": "same-site", "origin": ORIGIN},
        {"sec-fetch-site": "none"},
        {"sec-fetch-site": "same-origin", "origin": "http://evil.example"},
        {"origin": "http://evil.example"},
        {"origin": f"https://127.0.0.1:{PORT}"},
        {"origin": f"http://127.0.0.1:{PORT + 1}"},
        {"origin": "null"},
        {},
    ],
)
def test_only_the_page_itself_writes(friend, headers):
    refused(
        friend.post(
            "/api/learn", content="{}", headers={"content-type": "application/json", **headers}
        )
    )


@pytest.mark.parametrize("headers", [{"sec-fetch-site": "same-origin"}, {"origin": ORIGIN}, GOOD])
def test_the_page_itself_writes(friend, headers):
    answer = friend.post(
        "/api/learn", content='{"a": 1}', headers={"content-type": "application/json", **headers}
    )
    assert answer.text == "in"
    assert called == [("POST", "/api/learn", b'{"a": 1}')]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_reads_nothing(friend, site):
    refused(friend.get("/api/state", headers={"sec-fetch-site": site}))


@pytest.mark.parametrize(
    "content", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
def test_what_a_form_of_another_site_could_send_is_refused(friend, content):
    headers = {name: value for name, value in {**GOOD, "content-type": content}.items() if value}
    refused(friend.post("/api/learn", content="{}", headers=headers), 400)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_there_are_no_other_methods(friend, method):
    refused(friend.request(method, "/api/audit", headers=GOOD), 405)


def test_every_answer_keeps_to_itself(friend, stranger):
    for answer in (
        friend.get("/"),
        stranger.get("/x"),
        friend.post("/api/learn", content="{}", headers=GOOD),
    ):
        headers = answer.headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        for rule in (
            "script-src 'self'",
            "style-src 'self'",
            "base-uri 'none'",
            "frame-ancestors 'self'",
        ):
            assert rule in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert not [name for name in headers if name.startswith("access-control")]
    assert friend.get("/report").headers["content-security-policy"] == "its own"


def test_a_refusal_is_one_line_without_token_or_cells(stranger, caplog):
    with caplog.at_level(logging.WARNING, "chary.review"):
        stranger.get(
            "/api/audit%0a%1b[31mred?token=abc&cell=secret",
            headers={"origin": "http://evil.example"},
        )
        stranger.get("/?token=nearly-the-token")
        stranger.post("/api/audit", content='{"answer": "secret"}', headers=GOOD)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 3
    for line in lines:
        assert "\n" not in line
        assert "\x1b" not in line
        assert not any(word in line for word in ("secret", "abc", "nearly", TOKEN))


def test_connections_of_other_kinds_are_dropped(safety):
    async def nobody(*message):
        raise AssertionError

    asyncio.run(safety({"type": "websocket", "headers": []}, nobody, nobody))
    assert called == []
