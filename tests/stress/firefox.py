"""The page in Firefox: draw thirty rows, answer them by keyboard, and look at every page, wide and as on a phone.

    pip install marionette_driver && python tests/stress/firefox.py

The tests in every run use Chromium. This needs Firefox (Debian: `apt-get install firefox-esr`).
"""

import shutil
import sys
import tempfile
from pathlib import Path

from marionette_driver import By, Wait
from marionette_driver.marionette import Marionette

sys.path.insert(0, str(Path(__file__).parent))

from pauses_and_clocks import ROWS, end, start

SCROLLS = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        page, process, sheet = start(Path(folder))
        firefox = Marionette(bin=shutil.which("firefox-esr") or shutil.which("firefox"), headless=True)
        version = firefox.start_session()["browserVersion"]
        try:
            base = f"http://127.0.0.1:{page.port}"
            go(firefox, f"{base}/?token={page.token}")
            go(firefox, f"{base}/audit")
            given = [answer(firefox, place) for place in range(1, ROWS + 1)]
            sideways = 0
            for width in (1280, 450):  # the narrowest that Firefox makes a window
                firefox.set_window_rect(width=width, height=900)
                for place in ("/", "/audit", "/truth", "/review", "/result"):
                    go(firefox, base + place)
                    sideways += firefox.execute_script(SCROLLS) > 0
        finally:
            firefox.quit()
            firefox.cleanup()
        lost = end(process, sheet, given)
    print(f"Firefox {version}: {ROWS} answers by keyboard, {lost} lost")
    print(f"5 pages at 2 widths, {sideways} of which scroll sideways")
    return int(lost + sideways > 0)


def go(firefox: Marionette, address: str) -> None:
    firefox.navigate(address)
    Wait(firefox, timeout=120).until(lambda one: one.find_elements(By.CSS_SELECTOR, "main:not([aria-busy])"))


def answer(firefox: Marionette, place: int) -> str:
    """Press the key of a class, again if it came too soon, until the page says that the answer is saved."""

    def is_saved(page: Marionette) -> bool:
        words = page.find_element(By.ID, "saved").text
        if f"Row {place}:" not in words and (place == 1 or "too soon" in words or f"Row {place - 1}:" in words):
            page.find_element(By.TAG_NAME, "body").send_keys(("1", "2")[place % 2])
        return f"Row {place}:" in page.find_element(By.ID, "saved").text

    Wait(firefox, timeout=60, interval=1).until(is_saved)
    return firefox.find_element(By.ID, "saved").text.split("“")[1].split("”")[0]


if __name__ == "__main__":
    sys.exit(main())
