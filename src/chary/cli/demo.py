"""The command ``chary demo``: what biased labels promise, and what thirty random answers tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chary.cli import console
from chary.cli.label import Labelled, label_and_write
from chary.options import AUDIT_SIZE, DemoOptions, DrawOptions, LabelOptions, Options, ReviewOptions

if TYPE_CHECKING:
    import polars as pl

    from chary._arrays import Array

TARGET = "diagnosis"
N_LABELED = 30  # as many labels as a person gives in an hour
STRENGTH = 2.0  # of the bias, as in the paper's studies

FOLDER = Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write.")]


@console.takes_options
def demo_command(options: DemoOptions, out: FOLDER = Path("chary-demo")) -> None:
    """Label, audit and label again a table whose labels are known."""
    from chary.report import quality

    seed = options.seed or 0
    force = options.force
    path = out / "tumours.csv"
    sheet = out / "tumours.audit.csv"
    console.require_free([path, sheet], force)
    frame, truth = hide_labels(seed)
    with console.writing([path], force) as (stream,):
        frame.write_csv(stream)
    say = console.say

    say(
        f"\n{len(truth)} tumours, {N_LABELED} of them with a label. "
        "Extreme cases were labelled first."
    )
    _say_command(LabelOptions(target=TARGET), path)
    labelled = label_and_write([path], LabelOptions(target=TARGET, out=out, seed=seed, force=force))
    say(labelled.summary["diagnosis"]["sentence"])
    promised = labelled.result.held_out.correct.mean()
    say(
        f"The given labels promise that {promised:.0%} of the new ones are right "
        "(cross-validation)."
    )
    say(f"What the user cannot know: {_share_right(labelled, truth):.0%} of them are right.")

    _say_command(DrawOptions(target=TARGET), path)
    _answer(labelled, path, sheet, truth, options)
    say(
        f"{AUDIT_SIZE} random rows, answered here from the hidden truth. "
        "In your own table you answer them."
    )

    _say_command(LabelOptions(target=TARGET, audit=sheet), path)
    audited = label_and_write(
        [path],
        LabelOptions(target=TARGET, audit=sheet, out=out / "audited", seed=seed, force=force),
    )
    after, before = quality(audited.summary)["bars"]
    say(
        f"Of the labels above, {before['low']:.0%} to {before['high']:.0%} are right "
        "(exact 95% interval)."
    )
    say(
        "The model learned from the answers too: "
        f"now {after['low']:.0%} to {after['high']:.0%} (approximate). "
        f"What the user cannot know: {_share_right(audited, truth):.0%}."
    )

    say(f"Open the report: {audited.paths['report']}")
    say(f"The same in the browser: {ReviewOptions(target=TARGET).command([path])}")


def _say_command(options: Options, path: Path) -> None:
    """Print a command as a user types it."""
    console.say(f"\n$ {options.command([path])}", "bold")


def _share_right(labelled: Labelled, truth: Array) -> float:
    """Return the share of new labels that equal the hidden ones."""
    result = labelled.result
    labels = result.labels.classes[result.codes]
    hidden = ~result.labels.labeled
    return float((labels[hidden] == truth[hidden]).mean())


def _answer(
    labelled: Labelled, path: Path, sheet: Path, truth: Array, options: DemoOptions
) -> None:
    """Draw random rows into a sheet, and answer each by the truth."""
    from chary.api import Result
    from chary.audit.filling import Filling

    # Answers of an earlier demo were made up, but may have been edited since: a copy is kept.
    result = Result(path, labelled.result)
    result.draw(sheet, AUDIT_SIZE, seed=options.seed or 0, discard_answers=options.force)
    filling = Filling(sheet)
    for place, row in enumerate(filling.rows, 1):
        filling.answer(place, truth[row.number])


def hide_labels(seed: int = 0) -> tuple[pl.DataFrame, Array]:
    """Hide most labels of a table of breast tumours; return the table and all labels.

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
    is_labeled = selection_biased(X, truth, N_LABELED, STRENGTH, random_state=seed)

    frame = pl.DataFrame(data.data, schema=data.feature_names.tolist())
    labels = [label if given else None for label, given in zip(truth, is_labeled, strict=True)]
    return frame.with_columns(pl.Series(TARGET, labels, dtype=pl.String)), truth
