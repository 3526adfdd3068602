"""The command ``chary demo``: biased labels promise too much, thirty random answers tell the truth and help."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chary.cli import console
from chary.cli.label import Labelled, label_and_write
from chary.options import AUDIT_SIZE, DemoOptions, DrawOptions, LabelOptions, Options, ReviewOptions

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

TARGET = "diagnosis"
# As many labels as a person gives in an hour, and the strength of the bias in the paper's studies.
N_LABELED, STRENGTH = 30, 2.0


@console.takes_options
def demo_command(
    options: DemoOptions,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write.")] = Path(
        "chary-demo"
    ),
) -> None:
    """Hide most labels of a table that ships with scikit-learn, find them again, and compare with the truth."""
    from chary.report import quality

    start, seed, force = time.perf_counter(), options.seed or 0, options.force
    path, sheet = out / "tumours.csv", out / "tumours.audit.csv"
    console.require_free([path, sheet], force)
    frame, truth = hide_labels(seed)
    with console.writing([path], force) as (stream,):
        frame.write_csv(stream)
    say = console.say

    def say_command(options: Options) -> None:
        say(f"\n$ {options.command([path])}", "bold")

    say(
        f"\n{len(truth)} tumours, {N_LABELED} of them with a label. Extreme cases were labelled first."
    )
    say_command(LabelOptions(target=TARGET))
    labelled = label_and_write([path], LabelOptions(target=TARGET, out=out, seed=seed, force=force))
    say(labelled.summary["diagnosis"]["sentence"])
    promised = labelled.result.held_out.correct.mean()
    say(
        f"The given labels promise that {promised:.0%} of the new ones are right (cross-validation)."
    )
    say(f"What the user cannot know: {_share_right(labelled, truth):.0%} of them are right.")

    say_command(DrawOptions(target=TARGET))
    _answer(labelled, path, sheet, truth, seed, force)
    say(
        f"{AUDIT_SIZE} random rows, answered here from the hidden truth. In your own table you answer them."
    )
    say_command(LabelOptions(target=TARGET, audit=sheet))
    audited = label_and_write(
        [path],
        LabelOptions(target=TARGET, audit=sheet, out=out / "audited", seed=seed, force=force),
    )
    after, before = quality(audited.summary)["bars"]
    say(
        f"Of the labels above, {before['low']:.0%} to {before['high']:.0%} are right (exact 95% interval)."
    )
    say(
        f"The model learned from the answers too: now {after['low']:.0%} to {after['high']:.0%} (approximate). "
        f"What the user cannot know: {_share_right(audited, truth):.0%}."
    )
    say(f"Open the report: {audited.paths['report']}")
    say(f"The same in the browser: {ReviewOptions(target=TARGET).command([path])}")
    say(f"{time.perf_counter() - start:.0f} seconds in all.", "dim")


def _share_right(labelled: Labelled, truth: NDArray[Any]) -> float:
    """Of the labels that nobody gave, how many are the hidden ones."""
    result = labelled.result
    hidden = ~result.labels.labeled
    return float((result.labels.classes[result.codes][hidden] == truth[hidden]).mean())


def _answer(
    labelled: Labelled, path: Path, sheet: Path, truth: NDArray[Any], seed: int, force: bool
) -> None:
    """Draw random rows into a sheet, and answer each by the truth."""
    from chary.api import Result
    from chary.audit.filling import Filling

    # Answers of an earlier demo were made up, but may have been edited since: a copy is kept.
    Result(path, labelled.result).draw(sheet, AUDIT_SIZE, seed=seed, discard_answers=force)
    filling = Filling(sheet)
    for place, row in enumerate(filling.rows, 1):
        filling.answer(place, truth[row.number])


def hide_labels(seed: int = 0) -> tuple[pl.DataFrame, NDArray[Any]]:
    """Breast tumours under the microscope, the target with gaps, and all labels.

    The more extreme a case is for its class, the sooner it got a label.
    """
    import numpy as np
    import polars as pl
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    from chary.method import selection_biased

    data = load_breast_cancer(as_frame=False)
    truth = np.array(["malignant", "benign"])[data.target]
    X = StandardScaler().fit_transform(data.data)
    labeled = selection_biased(X, truth, N_LABELED, STRENGTH, random_state=seed)
    columns = {name: data.data[:, j] for j, name in enumerate(data.feature_names)}
    given = [label if kept else None for label, kept in zip(truth.tolist(), labeled, strict=True)]
    return pl.DataFrame({**columns, TARGET: given}), truth
