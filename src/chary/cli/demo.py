"""The word ``chary demo`` in; the main job on a table that ships with scikit-learn, beside the truth, out."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chary.cli import options
from chary.cli.console import plain, require_free, stdout
from chary.cli.label import Done, run_label

if TYPE_CHECKING:
    from chary.cli.hidden_labels import HiddenLabels

demo_app = typer.Typer(rich_markup_mode="rich")


@demo_app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write.")] = Path("chary-demo"),
    seed: options.SEED = 0,
    force: options.FORCE = False,
) -> None:
    """Hide most labels of a table that ships with scikit-learn, find them again, and compare with the truth."""
    from chary._files import atomic_write
    from chary.cli.hidden_labels import N_LABELED, TARGET, hide_labels

    start = time.perf_counter()
    path = out / "tumours.csv"
    out.mkdir(parents=True, exist_ok=True)
    require_free([path], force)
    hidden = hide_labels(seed)
    with atomic_write(path, overwrite=force) as stream:
        hidden.frame.write_csv(stream)
    console = stdout()
    console.print(
        f"\n{len(hidden.truth)} tumours, {N_LABELED} of them with a label. Extreme cases were labelled first, as "
        f"happens.\n\n[bold]$ chary label {plain(path)} --target {TARGET}[/bold]",
        highlight=False,
    )
    done = run_label([path], TARGET, out, force, seed=seed)
    done.show()
    _show_truth(done, hidden, seed)
    console.print(f"Open the report: [bold]{plain(done.paths['report'], 500)}[/bold]", soft_wrap=True)
    console.print(
        "How good are the labels of a table of yours? Label thirty random rows in the browser: "
        f"[bold]chary review {plain(shlex.quote(str(path)), 500)} --target {TARGET}[/bold]",
        soft_wrap=True,
        highlight=False,
    )
    console.print(f"[dim]{time.perf_counter() - start:.0f} seconds in all.[/dim]")


def _show_truth(done: Done, hidden: HiddenLabels, seed: int) -> None:
    """What the user could not know: accuracy on the labels that were hidden."""
    import numpy as np
    from rich import box
    from rich.table import Table as Grid

    from chary.cli.hidden_labels import hide_labels, rivals

    result, pool = done.result, ~hidden.labeled
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
