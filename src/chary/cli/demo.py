"""The command ``chary demo``: hide most labels of a table of scikit-learn, find them again, and compare."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from chary.cli.console import plain, require_free, stdout, takes_options, writing
from chary.cli.label import Labelled, label_files
from chary.options import Options

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

TARGET = "diagnosis"
# As many labels as a person gives in an hour, and the strength of the bias in the paper's studies.
N_LABELED, STRENGTH = 30, 2.0


@takes_options("demo")
def demo_command(
    options: Options,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write.")] = Path("chary-demo"),
) -> None:
    """Hide most labels of a table that ships with scikit-learn, find them again, and compare with the truth."""
    start, seed = time.perf_counter(), options.seed or 0
    path = out / "tumours.csv"
    require_free([path], options.force)
    hidden = hide_labels(seed)
    with writing([path], options.force) as (stream,):
        hidden.frame.write_csv(stream)
    console, told = stdout(), Options(target=TARGET)
    console.print(
        f"\n{len(hidden.truth)} tumours, {N_LABELED} of them with a label. Extreme cases were labelled first, as "
        f"happens.\n\n[bold]$ {plain(told.command('label', [path]), 500)}[/bold]",
        highlight=False,
    )
    labelled = label_files([path], Options(target=TARGET, out=out, seed=seed, force=options.force))
    labelled.show()
    _show_truth(labelled, hidden, seed)
    console.print(f"Open the report: [bold]{plain(labelled.paths['report'], 500)}[/bold]", soft_wrap=True)
    console.print(
        "How good are the labels of a table of yours? Label thirty random rows in the browser: "
        f"[bold]{plain(told.command('review', [path]), 500)}[/bold]",
        soft_wrap=True,
        highlight=False,
    )
    console.print(f"[dim]{time.perf_counter() - start:.0f} seconds in all.[/dim]")


class HiddenLabels(NamedTuple):
    """A table with most labels hidden."""

    frame: pl.DataFrame  # features, and the target with its gaps
    X: NDArray[np.float64]  # the features, standardised
    truth: NDArray[Any]  # (n,) all labels
    labeled: NDArray[np.bool_]  # (n,) where the label was kept


def hide_labels(seed: int = 0) -> HiddenLabels:
    """Breast tumours under the microscope; the more extreme a case for its class, the sooner it got a label."""
    import numpy as np
    import polars as pl
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    from chary.method import selection_biased

    data = load_breast_cancer(as_frame=False)
    X = StandardScaler().fit_transform(data.data)
    truth = np.array(["malignant", "benign"])[data.target]
    labeled = selection_biased(X, truth, N_LABELED, STRENGTH, random_state=seed)
    columns = {name: data.data[:, j] for j, name in enumerate(data.feature_names)}
    given = [label if kept else None for label, kept in zip(truth.tolist(), labeled, strict=True)]
    frame = pl.DataFrame({**columns, TARGET: given})
    return HiddenLabels(frame, X, truth, labeled)


def rivals(hidden: HiddenLabels, seed: int = 0) -> dict[str, float]:
    """Accuracy on the hidden labels of classifiers that saw the same given ones."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import SelfTrainingClassifier as ScikitSelfTraining

    from chary.method import Curriculum, DiverseEnsembleClassifier, SelfTrainingClassifier

    X, truth, labeled = hidden.X, hidden.truth, hidden.labeled
    codes = np.where(labeled, truth == "malignant", -1)
    plain = LogisticRegression(max_iter=1000).fit(X[labeled], codes[labeled])
    scikit = ScikitSelfTraining(LogisticRegression(max_iter=1000)).fit(X, codes)
    chary = SelfTrainingClassifier(
        DiverseEnsembleClassifier(random_state=seed), policy=Curriculum(0.4), max_rounds=1
    )
    models = {"logistic regression": plain, "scikit-learn's self-training": scikit, "chary": chary.fit(X, codes)}
    hidden_truth = (truth == "malignant")[~labeled]
    return {name: float(np.mean(model.predict(X[~labeled]) == hidden_truth)) for name, model in models.items()}


def _show_truth(labelled: Labelled, hidden: HiddenLabels, seed: int) -> None:
    """What the user could not know: accuracy on the labels that were hidden."""
    import numpy as np
    from rich import box
    from rich.table import Table as Grid

    result, pool = labelled.result, ~hidden.labeled
    right = result.labels.classes[result.codes][pool] == hidden.truth[pool]
    order = np.argsort(-result.confidence[pool], kind="stable")
    others = [rivals(hide_labels(seed + draw), seed) for draw in range(1, 10)]
    this = {**rivals(hidden, seed), "chary": float(right.mean())}
    grid = Grid("Share of the hidden labels found", "here", "mean of 10 such draws", box=box.SIMPLE)
    for column in grid.columns[1:]:
        column.justify = "right"
    for name, accuracy in this.items():
        mean = np.mean([accuracy, *(other[name] for other in others)])
        grid.add_row(name, f"{accuracy:.1%}", f"{mean:.1%}")
    console = stdout()
    console.print("\n[bold]And what the user could not know:[/bold]")
    console.print(grid)
    console.print(
        f"Cross-validation on the given labels promised {result.judged.correct.mean():.1%}. Of the most confident "
        f"half of the rows {right[order[: len(right) // 2]].mean():.1%} were right, of the other half "
        f"{right[order[len(right) // 2 :]].mean():.1%}.\n",
        highlight=False,
    )
