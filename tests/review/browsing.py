"""Visits the pages of a workbench in a real browser, and notices what they must never do."""

import re
import shutil
import time
from contextlib import contextmanager
from threading import Thread

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
TOKEN = "a token for tests"
# What the templates and the script make; anything else came out of a cell.
TAGS = re.findall(
    r"\w+",
    "html head meta title link script body a header p b span nav ol li button kbd div main h1 h2 "
    "h3 section form label input fieldset legend dl dt dd ul table caption thead tbody tr th td "
    "select option datalist figure figcaption svg polygon rect line circle text footer dialog "
    "details summary progress output code bdi noscript",
)
STRAY = """(tags) => [...document.querySelectorAll("*")]
    .filter((one) => !tags.includes(one.localName) || one.getAttributeNames().some(
        (name) => name.startsWith("on") || name === "style" || name === "srcdoc"))
    .map((one) => one.outerHTML.slice(0, 200))"""


@contextmanager
def served(bench, learn=True):
    """The address of a workbench's pages, as long as it is served from a thread."""
    import uvicorn

    from chary.review.app import create_app

    bound = uvicorn.Config(lambda: None, host="127.0.0.1", port=0, log_config=None).bind_socket()
    port = bound.getsockname()[1]
    config = uvicorn.Config(
        create_app(bench, TOKEN, port), log_config=None, access_log=False, lifespan="off"
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    if learn:
        bench.learn()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
        bench.close()


@contextmanager
def chromium():
    """A browser that knows no name of any other machine: the pages must do without."""
    from playwright.sync_api import sync_playwright

    rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", rules])
        yield browser
        browser.close()


class Visitor:
    """A page and whoever looks at it; ``troubles`` holds what no page may ever do."""

    def __init__(self, browser, base, bench, patience=60, **context):
        self.bench, self.base, self.troubles, self.requests = bench, base, [], 0
        self.patience = patience  # seconds; a busy machine is no failure
        self.context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, **context}
        )
        self.page = self.tab()
        self.page.goto(f"{base}/?token={TOKEN}")
        self.page.wait_for_url(f"{base}/")
        self.settle()

    def tab(self):
        page = self.context.new_page()
        page.set_default_timeout(1000 * self.patience)
        page.on(
            "dialog",
            lambda dialog: (self.troubles.append(f"dialog {dialog.message}"), dialog.dismiss()),
        )
        page.on("pageerror", lambda error: self.troubles.append(f"error {error}"))
        page.on("console", self._heard)
        page.on("request", self._asked)
        return page

    def _heard(self, message):
        # A refusal that a page shows in place is also told by the browser itself.
        if not message.text.startswith(
            "Failed to load resource: the server responded with a status of 4"
        ):
            self.troubles.append(f"console {message.text}")

    def _asked(self, request):
        self.requests += 1
        if not request.url.startswith(f"{self.base}/"):
            self.troubles.append(f"asked {request.url}")

    def go(self, place):
        self.page.goto(self.base + place)
        self.settle()
        return self.page

    def settle(self):
        self.page.wait_for_selector("main:not([aria-busy])")

    def press(self, *keys):
        """Press keys, each once the page takes it: after a slow answer it does not for a moment."""
        for key in keys:
            self.settle()
            self.page.keyboard.press(key)

    def text(self, name):
        return self.page.text_content(f"#{name}")

    def until(self, name, words):
        """Wait until an element says so."""
        script = "([name, words]) => document.getElementById(name).textContent.includes(words)"
        self.page.wait_for_function(script, arg=[name, words])

    def type_answer(self, key, words):
        """Press a key and wait until the page has said that it is saved."""
        self.settle()
        self.page.evaluate("document.getElementById('saved').textContent = ''")
        self.press(key)
        self.until("saved", words)

    def learned(self, seconds=120):
        """Until nothing is learned any more, and the page knows."""
        end = time.monotonic() + seconds
        while (work := self.bench.background.view())["running"]:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert work["error"] == ""
        self.page.wait_for_selector("#work", state="hidden")

    def check(self):
        """Nothing ran, nothing was added, nobody else was asked."""
        assert self.page.evaluate("window.hit") is None
        assert self.page.evaluate(STRAY, TAGS) == []
        assert self.troubles == [], self.troubles

    def fits(self):
        """Whether nothing is to be scrolled sideways but tables in their frames."""
        return self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    def close(self):
        self.context.close()


def walk_hostile(visitor, learn):
    """Start, draw, answer two rows by keyboard, look at all pages; cells give nothing but text."""
    page = visitor.page
    _look(visitor)
    page.wait_for_selector("#draw:not([hidden])")
    page.fill("#draw-k", "4")
    page.click("#draw-button")
    page.wait_for_url("**/audit")
    page.wait_for_selector("#answers:not([hidden])")
    _look(visitor)
    assert page.locator("#fields > div").count() >= 2
    _answer(visitor, 1)
    visitor.type_answer("s", "Row 2")
    if learn:
        for place in (3, 4):
            _answer(visitor, place)
        visitor.learned()
    for place in ("/truth", "/review", "/result"):
        visitor.go(place)
        _look(visitor)
        assert not learn or place != "/review" or page.is_visible("#row")


def _look(visitor):
    visitor.check()
    assert visitor.fits(), visitor.page.url


def _answer(visitor, place):
    """The first class, by its key, or by its name where there are more than keys."""
    page = visitor.page
    if page.is_visible("#class-buttons button"):
        visitor.type_answer("1", f"Row {place}")
        return
    page.fill("#typed-name", page.locator("#typed-list option").first.get_attribute("value"))
    visitor.type_answer("Enter", f"Row {place}")
    page.evaluate("document.activeElement.blur()")
