"""A table of animals, a workbench over it, and somebody who holds its token."""

import json
import time

import numpy as np
import polars as pl
import pytest
from starlette.testclient import TestClient

from chary.audit.drawing import draw_sheet
from chary.audit.filling import Filling
from chary.audit.sheet import unlabelled_rows
from chary.labelling import label_table
from chary.options import LabelOptions, ReviewOptions
from chary.review import begin
from chary.review.app import create_app
from chary.tables import read_table
from chary.tables.target import target_labels

PORT, TOKEN = 5000, "the-token"
ANIMALS = ReviewOptions(target="animal", learner="linear")  # the quickest learner
JSON = {"content-type": "application/json", "sec-fetch-site": "same-origin"}


def write_animals(folder, n=240):
    """Animals of which the large and the small have a label; returns the path and the truth."""
    rng = np.random.default_rng(0)
    size, speed = rng.normal(size=(2, n))
    animal = np.where(size + speed + 0.3 * rng.normal(size=n) > 0, "dog", "cat").astype(object)
    truth = animal.tolist()
    animal[~((size > 0.5) & (rng.random(n) < 0.5) | (size < -1.2))] = None
    names = [f"n{i}" for i in range(n)]
    frame = pl.DataFrame({"size": size, "speed": speed, "name": names, "animal": animal.tolist()})
    frame.write_csv(folder / "animals.csv")
    return folder / "animals.csv", truth


def ended(background, seconds=120):
    """Whether nothing is left to do by then."""
    end = time.monotonic() + seconds
    while background.running and time.monotonic() < end:
        time.sleep(0.01)
    return not background.running


@pytest.fixture
def wait():
    return ended


@pytest.fixture
def animals(tmp_path):
    return write_animals(tmp_path)


@pytest.fixture
def bench(animals):
    made = begin([str(animals[0])], ANIMALS)
    yield made
    made.close()


@pytest.fixture
def rules(tmp_path):
    """Labels that rules made, with a confidence; wrong in every tenth row, and the truth."""
    truth = ["spam" if i % 3 else "ham" for i in range(200)]
    labels = [
        ("ham" if text == "spam" else "spam") if i % 10 == 7 else text
        for i, text in enumerate(truth)
    ]
    confidence = [0.2 if i % 10 == 7 else 0.9 - 0.001 * i for i in range(200)]
    frame = pl.DataFrame(
        {"text": [f"t{i}" for i in range(200)], "rule": labels, "sure": confidence}
    )
    frame.write_csv(tmp_path / "mails.csv")
    return tmp_path / "mails.csv", truth


@pytest.fixture
def enter():
    """A browser that was let in."""

    def enter(bench):
        browser = Browser(bench)
        assert browser.client.get(f"/?token={TOKEN}").status_code == 200
        return browser

    return enter


@pytest.fixture
def browser(bench, enter):
    return enter(bench)


class Browser:
    """What a page does."""

    def __init__(self, bench):
        self.bench = bench
        self.client = TestClient(
            create_app(bench, TOKEN, PORT), base_url=f"http://127.0.0.1:{PORT}"
        )

    def get(self, path):
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path, status=200, **body):
        answer = self.client.post(path, content=json.dumps(body), headers=JSON)
        assert answer.status_code == status, answer.text
        return answer.json()

    def label(self, truth, k=12, rule="planned"):
        """Draw rows and answer all."""
        page = self.post("/api/audit/draw", k=k, rule=rule)
        while page["row"]:
            row = page["row"]
            page = self.post(
                "/api/audit",
                place=row["place"],
                row=row["row"],
                answer=truth[row["row"] - 1],
                expected="",
            )
        return page

    def wait(self):
        assert ended(self.bench.background)
        work = self.get("/api/state")["work"]
        assert work["error"] == "", work
        return self


@pytest.fixture(scope="session")
def labelled(tmp_path_factory):
    """Animals labelled by a linear model and an audit of twelve rows."""
    folder = tmp_path_factory.mktemp("labelled")
    path, truth = write_animals(folder)
    table = read_table(path)
    labels = target_labels(table, "animal")
    sheet = folder / "animals.audit.csv"
    draw_sheet(sheet, unlabelled_rows(table, "animal", labels), 12)
    filling = Filling(sheet)
    for place, row in enumerate(filling.rows, 1):
        filling.answer(place, truth[row.number])
    return label_table(table, LabelOptions.like(ANIMALS, audit=sheet))
