"""The command ``chary demo``: hide most labels of a table of scikit-learn, find them again, and compare."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chary.cli.console import plain, require_free, stdout, takes_options, tell, writing
from chary.cli.label import Labelled, label_and_write
from chary.options import Options

if TYPE_CHECKING:
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
    frame, truth = hide_labels(seed)
    with writing([path], options.force) as (stream,):
        frame.write_csv(stream)
    console, told = stdout(), Options(target=TARGET)
    console.print(
        f"\n{len(truth)} tumours, {N_LABELED} of them with a label. Extreme cases were labelled first, as "
        f"happens.\n\n[bold]$ {plain(told.command('label', [path]), 500)}[/bold]",
        highlight=False,
    )
    labelled = label_and_write([path], Options(target=TARGET, out=out, seed=seed, force=options.force))
    tell(labelled.summary, labelled.show, False, labelled.paths)
    console.print(
        f"\n[bold]And what the user could not know:[/bold] {_compared(labelled, truth)}\n", highlight=False
    )
    console.print(f"Open the report: [bold]{plain(labelled.paths['report'], 500)}[/bold]", soft_wrap=True)
    console.print(
        "How good are the labels of a table of yours? Label thirty random rows in the browser: "
        f"[bold]{plain(told.command('review', [path]), 500)}[/bold]",
        soft_wrap=True,
        highlight=False,
    )
    console.print(f"[dim]{time.perf_counter() - start:.0f} seconds in all.[/dim]")


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


def _compared(labelled: Labelled, truth: NDArray[Any]) -> str:
    """How many of the hidden labels were found, beside what the given ones promised."""
    import numpy as np

    result = labelled.result
    hidden = ~result.labels.labeled
    right = result.labels.classes[result.codes][hidden] == truth[hidden]
    right = right[np.argsort(-result.confidence[hidden], kind="stable")]  # the most confident first
    half = len(right) // 2
    return (
        f"{right.mean():.0%} of the hidden labels were found, {right[:half].mean():.0%} in the more confident "
        f"half of the rows and {right[half:].mean():.0%} in the other. Cross-validation on the given labels "
        f"promised {result.judged.correct.mean():.0%}."
    )
