"""A table to type commands about, and a way to type them."""

import numpy as np
import polars as pl
import pytest
import typer

from chary.cli import main

HEADER = "id;age;colour;churn"


@pytest.fixture
def table(tmp_path):
    """Customers with decimal commas; a quarter has no label."""
    rows = []
    for i in range(80):
        age, colour = 20 + (i * 37 % 50), ["red", "blue", "green"][i % 3]
        churn = ("yes" if age > 40 else "no") if i % 4 else ""
        rows.append(f"{i:03d};{age},5;{colour};{churn}")
    path = tmp_path / "customers.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


@pytest.fixture
def run(capsys):
    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(name="animals")
def table_of_animals(tmp_path):
    rng = np.random.default_rng(0)
    size, speed = rng.normal(size=(2, 300))
    animal = np.where(size + speed + 0.3 * rng.normal(size=300) > 0, "dog", "cat").astype(object)
    truth = animal.copy()
    animal[~((size > 0.5) & (rng.random(300) < 0.5) | (size < -1.2))] = None
    frame = pl.DataFrame(
        {
            "size": size,
            "speed": speed,
            "name": [f"n{i}" for i in range(300)],
            "animal": animal.tolist(),
        }
    )
    path = tmp_path / "animals.csv"
    frame.write_csv(path)
    return path, truth


@pytest.fixture(name="drawn")
def drawn_sheet(animals, run, row_numbers):
    """A sheet of eight random rows, and their true labels."""
    path, truth = animals
    assert run("audit", "draw", path, "-t", "animal", "-k", 8)[0] == 0
    drawn = path.with_name("animals.audit.csv")
    return drawn, [truth[row] for row in row_numbers(drawn)]


@pytest.fixture
def row_numbers():
    return lambda path: [
        int(token.split("row ")[1].split(" of")[0]) - 1 for token in pl.read_csv(path)["chary_row"]
    ]


@pytest.fixture
def answers():
    return lambda path: pl.read_csv(path, infer_schema=False)["animal"].fill_null("").to_list()


@pytest.fixture
def keys(monkeypatch):
    """Press these keys; the last one and then nothing more."""

    def press(pressed, typed=""):
        left, lines = list(pressed), typed.split("|")
        monkeypatch.setattr(typer, "getchar", lambda: left.pop(0) if left else "q")
        monkeypatch.setattr("builtins.input", lambda prompt: lines.pop(0))
        return left

    return press
