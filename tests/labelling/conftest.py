"""A model of a table with columns of several kinds, and its file."""

import numpy as np
import polars as pl
import pytest


def new_rows(n, seed=1):
    """Rows for the model of the fixture."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": range(n),
            "x": rng.normal(size=n),
            "n": rng.integers(0, 9, n),
            "price": [f"{v:.2f} €".replace(".", ",") for v in rng.uniform(1, 99, n)],
            "city": rng.choice(["Ulm", "Bonn", "Kiel", "Oslo"], n).tolist(),
            "said": rng.choice(
                ["good and quick", "slow and rude", "fine", "never again"], n
            ).tolist(),
        }
    )


@pytest.fixture(scope="session")
def rows():
    return new_rows


@pytest.fixture(scope="session", name="trained")
def trained_model():
    """A pipeline of the linear learner, trained once."""
    from chary.labelling import label_table
    from chary.options import LabelOptions
    from chary.tables import Table

    frame = new_rows(300, seed=0)
    label = np.where(
        frame["x"].to_numpy() + (frame["city"] == "Ulm").to_numpy() > 0.4, "yes", "no"
    ).astype(object)
    label[100:] = None
    frame = frame.with_columns(y=pl.Series(label.tolist(), dtype=pl.String))
    return label_table(
        Table(frame, "t"), LabelOptions.of(target="y", learner="linear", drop=["id"], text=["said"])
    ).model


@pytest.fixture(scope="session", name="model_file")
def file_of_the_model(trained, tmp_path_factory):
    from chary.model_file import save_model

    path = tmp_path_factory.mktemp("model") / "m.chary"
    save_model(trained, path)
    return path
