"""The command ``chary demo``: what biased labels promise, and what thirty random answers tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chary.cli import console
from chary.cli.label import Labelled, label_and_write
from chary.options import AUDIT_SIZE, DemoOptions, DrawOptions, LabelOptions, Options, ReviewOptions

if TYPE_CHECKING:
    import polars as pl

    from chary._arrays import Array
    from chary.labelling import LabeledTable

TARGET = "diagnosis"
# This many rows have a label, as many as a person labels in an hour.
N_LABELED = 30
# The strength of the bias is that of the paper's studies.
STRENGTH = 2.0

FOLDER = Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write.")]


@console.takes_options
def demo_command(options: DemoOptions, out: FOLDER = Path("chary-demo")) -> None:
    """Tell the whole story on a table whose labels are known; write a table to try.

    The table to try is customers.csv: 400 invented customers of a gym.
    """
    from chary.report import quality

    seed = options.seed or 0
    force = options.force
    path = out / "tumours.csv"
    sheet = out / "tumours.audit.csv"
    customers = out / "customers.csv"
    console.require_free([path, sheet, customers], force)
    frame, truth = hide_labels(seed)
    with console.writing([path, customers], force) as (tumours_file, customers_file):
        frame.write_csv(tumours_file)
        invented_customers().write_csv(customers_file)
    say = console.say

    say(
        f"\n{len(truth)} tumours, {N_LABELED} of them with a label. "
        "Extreme cases were labelled first."
    )
    _say_command(LabelOptions(target=TARGET), path)
    labelled = label_and_write([path], LabelOptions(target=TARGET, out=out, seed=seed, force=force))
    promised = labelled.result.held_out.correct.mean()
    say(f"1. The given labels promise that {promised:.0%} of the new ones are right.")
    _say_warning(labelled, truth, path, seed)

    _say_command(DrawOptions(target=TARGET), path)
    _answer(labelled, path, sheet, truth, options)
    say(f"{AUDIT_SIZE} random rows, answered here from the hidden truth. You answer your own.")

    _say_command(LabelOptions(target=TARGET, audit=sheet), path)
    audited = label_and_write(
        [path],
        LabelOptions(target=TARGET, audit=sheet, out=out / "audited", seed=seed, force=force),
    )
    after, before = quality(audited.summary)["bars"][:2]
    say(
        f"4. The answers show that {before['low']:.0%} to {before['high']:.0%} of the labels above "
        "are right (exact 95% interval)."
    )
    # The interval of the new labels is wider, since their model has seen the answers: what counts
    # is how many of the answered rows each has right.
    advice = "Use the new labels"
    if after["correct"] < before["correct"]:
        advice = "Keep those labels"
    say(
        f"5. {advice}: the model that learned from the answers, too, has {after['low']:.0%} to "
        f"{after['high']:.0%} right (approximate). In truth, {_share_right(audited.result, truth)}."
    )

    say(f"\nOpen the reports: {labelled.paths['report']}, then {audited.paths['report']}")
    say(f"The same in the browser: {ReviewOptions(target=TARGET).command([path])}")
    say(f"Try it on invented customers: {LabelOptions(target='churn').command([customers])}")


def _say_warning(labelled: Labelled, truth: Array, path: Path, seed: int) -> None:
    """Say why the promise is a warning, which learner is used, and what its labels are worth."""
    from chary.labelling import DEFAULTS, label_table
    from chary.tables import open_source

    settings = labelled.summary["settings"]
    share_right = _share_right(labelled.result, truth)
    if not settings["is_paper_method"]:
        console.say(f"2. That is no estimate: {labelled.summary['diagnosis']['sentence']}")
        console.say(f"3. In truth, {share_right} are right.")
        return

    usual = label_table(
        open_source(path).read(),
        LabelOptions(target=TARGET, seed=seed),
        defaults=replace(DEFAULTS, switched_off=frozenset({"hand_over_to_network"})),
    )
    console.say(f"2. That is a warning: {settings['why_learner']}.")
    console.say(
        f"3. So the paper's method labels the rest. In truth, {share_right} are right; "
        f"by the usual models it would be {_share_right(usual, truth)}."
    )


def _say_command(options: Options, path: Path) -> None:
    """Print a command as a user types it."""
    console.say(f"\n$ {options.command([path])}", "bold")


def _share_right(result: LabeledTable, truth: Array) -> str:
    """Write the share of new labels that equal the hidden ones."""
    labels = result.labels.classes[result.codes]
    hidden = ~result.labels.labeled
    share = (labels[hidden] == truth[hidden]).mean()
    return f"{share:.0%}"


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


def invented_customers() -> pl.DataFrame:
    """Invent 400 customers of a gym, of whom 60 have said whether they will leave.

    The very happy and the very unhappy talk to the staff: the labels are no random draw.
    """
    from datetime import date, timedelta

    import numpy as np
    import polars as pl

    n = 400
    n_asked = 60
    rng = np.random.default_rng(7)
    age = rng.integers(18, 80, n)
    visits = np.round(rng.gamma(2.0, 2.0, n), 1)
    plan = rng.choice(["basic", "plus", "gold"], n, p=[0.5, 0.3, 0.2])
    days = rng.integers(0, 2000, n)
    town = rng.choice(["Ulm", "Kiel", "Bonn", ""], n, p=[0.4, 0.3, 0.2, 0.1])
    joy = visits + 1.5 * (plan == "gold") + 0.03 * (age - 45) - 3.5 + rng.normal(0, 0.5, n)
    asked = np.argsort(-(np.abs(joy) + rng.gumbel(0, 0.5, n)))[:n_asked]
    churn = np.full(n, None, dtype=object)
    churn[asked] = np.where(joy[asked] < 0, "yes", "no")
    return pl.DataFrame(
        {
            "id": np.arange(1001, 1001 + n),
            "since": [date(2019, 1, 1) + timedelta(days=int(later)) for later in days],
            "plan": plan,
            "age": age,
            "visits": visits,
            "town": pl.Series(town).replace("", None),
            "churn": pl.Series(churn.tolist(), dtype=pl.String),
        }
    )
