"""Words typed after ``chary`` in; files, a summary and an exit code out: one function per command."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from pathlib import Path
from threading import current_thread, main_thread
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer
from rich import box
from rich.panel import Panel
from rich.table import Table as Grid

from chary import __version__
from chary._files import atomic_write
from chary._words import p_value
from chary.cli.audit import audit_app, audit_json, show_audit
from chary.cli.console import plain, print_json, read_quietly, require_free, stderr, stdout, steps
from chary.cli.demo import N_LABELED, TARGET, HiddenLabels, hide_labels, rivals
from chary.cli.remedies import sentence
from chary.cli.study import datasets_app, study_app
from chary.evaluation import REPRESENTATIVE, STRONG, Diagnosis
from chary.jobs import (
    ACCEPTED,
    GIVEN,
    PREDICTED,
    LabeledTable,
    advice,
    diagnose_features,
    label_table,
    load_table_model,
    parse_prior,
    predict_table,
    save,
)
from chary.report import render_report
from chary.tables import Column, Table, TableError, TablePreparation, target_labels, write_table

app = typer.Typer(
    name="chary",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Label the rest of a table from a few labels that were not picked at random.",
)
app.add_typer(study_app, name="study")
app.add_typer(datasets_app, name="datasets")

_INTERRUPTED = "Interrupted; no file was left half-written."
_SOURCES = (GIVEN, ACCEPTED, PREDICTED)

_TABLE = Annotated[Path, typer.Argument(metavar="FILE", help="A CSV or Parquet file.")]
_TARGET = Annotated[str, typer.Option("--target", "-t", help="The column that holds the labels.")]
_UNLABELED = Annotated[
    str | None, typer.Option(metavar="VALUE", help="A cell value that means: no label. Empty cells always do.")
]
_DROP = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out. Repeatable.")]
_CATEGORICAL = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Numbers in it are names, as postcodes are. Repeatable.")
]
_NUMERIC = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="It holds numbers. Repeatable.")]
_ID = Annotated[list[str] | None, typer.Option("--id", metavar="COLUMN", help="It only names rows. Repeatable.")]
_DELIMITER = Annotated[str | None, typer.Option(help="Of a CSV; found out if not given.")]
_ENCODING = Annotated[str, typer.Option(help="Of a CSV.")]
_SEED = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Same seed, same result.")]
_OUT = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where to write; next to FILE if not given.")]
_FORCE = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]
_JSON = Annotated[bool, typer.Option("--json", help="Print figures for a program instead of for a person.")]


app.add_typer(audit_app, name="audit")


@app.command(epilog="Example:  chary label customers.csv --target churn")
def label(
    file: _TABLE,
    target: _TARGET,
    unlabeled: _UNLABELED = None,
    drop: _DROP = None,
    categorical: _CATEGORICAL = None,
    numeric: _NUMERIC = None,
    identifier: _ID = None,
    audit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Random rows that a person labelled: chary audit draw.")
    ] = None,
    class_prior: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SHARE", help="Share of a class among all rows, if you know it. For each class."
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=20,
            help="How often to learn from its own best labels.",
            show_default="0, 1 or 5, as suits the labels",
        ),
    ] = None,
    delimiter: _DELIMITER = None,
    encoding: _ENCODING = "utf-8",
    seed: _SEED = 0,
    out: _OUT = None,
    force: _FORCE = False,
    as_json: _JSON = False,
) -> None:
    """Fill the empty cells of one column, and say how far each label can be trusted.

    Rows of FILE whose target cell is empty get a label. Three files appear next to it:

    FILE.labeled.csv: your table, with the columns chary_label, chary_confidence, chary_source.

    FILE.model.chary: the model, for [bold]chary predict[/bold].

    FILE.report.html: are your labels biased, what can be trusted, what to label next.
    """
    kinds = {
        "drop": drop or (),
        "categorical": categorical or (),
        "numeric": numeric or (),
        "identifier": identifier or (),
    }
    result, paths = _run_label(
        file,
        target,
        out,
        force,
        delimiter,
        encoding,
        unlabeled=unlabeled,
        rounds=rounds,
        audit=audit,
        class_prior=parse_prior(class_prior or []),
        seed=seed,
        **kinds,
    )
    if as_json:
        print_json(_label_figures(result, paths))
    else:
        _show_label(result, paths)


@app.command("diagnose", epilog="Example:  chary diagnose customers.csv --target churn")
def diagnose_command(
    file: _TABLE,
    target: _TARGET,
    unlabeled: _UNLABELED = None,
    drop: _DROP = None,
    categorical: _CATEGORICAL = None,
    numeric: _NUMERIC = None,
    identifier: _ID = None,
    delimiter: _DELIMITER = None,
    encoding: _ENCODING = "utf-8",
    seed: _SEED = 0,
    as_json: _JSON = False,
) -> None:
    """Tell whether the labelled rows are like the rest, and where not. Writes nothing."""
    with steps() as step:
        step("Reading")
        table = read_quietly(file, delimiter, encoding)
        step("Preparing columns")
        labels = target_labels(table, target, unlabeled)
        features = table.frame.drop(target)
        preparation = TablePreparation(
            drop=drop or (), categorical=categorical or (), numeric=numeric or (), identifier=identifier or ()
        )
        X = preparation.fit(features).transform(features)
        step("Comparing labelled and unlabelled rows")
        diagnosis = diagnose_features(X, labels, preparation, seed)
    if as_json:
        print_json(_diagnosis_figures(diagnosis))
        return
    stdout().print(_columns_grid(preparation.columns_))
    _show_diagnosis(diagnosis)


@app.command(epilog="Example:  chary predict customers.model.chary new-customers.csv")
def predict(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A FILE.model.chary.")],
    file: _TABLE,
    delimiter: _DELIMITER = None,
    encoding: _ENCODING = "utf-8",
    out: _OUT = None,
    force: _FORCE = False,
    as_json: _JSON = False,
) -> None:
    """Label the rows of a new table with a model made by [bold]chary label[/bold].

    Writes FILE.predicted.csv (or .parquet): the table, plus chary_label and chary_confidence.
    """
    if file.suffix == ".chary" != model_file.suffix:
        raise TableError(f"The model comes first: {shlex.join(['chary', 'predict', str(file), str(model_file)])}")
    with steps() as step:
        step("Loading the model")
        model = load_table_model(model_file)
        step("Reading")
        table = read_quietly(file, delimiter, encoding)
        path = (out or file.parent) / f"{file.stem}.predicted{_suffix(table, file)}"
        require_free([path], force)
        step("Labelling")
        try:
            added = predict_table(model, table)
        except TableError as error:
            raise TableError(f"{table.name}: ", *error.args) from None
        step("Writing")
        with atomic_write(path, overwrite=force) as stream:
            write_table(table, added, stream)
    counts = added["chary_label"].value_counts(sort=True).rows()
    if as_json:
        print_json({"rows": table.frame.height, "labels": dict(counts), "files": {"predicted": str(path)}})
        return
    grid = Grid("Label", "Rows", box=box.SIMPLE)
    grid.columns[1].justify = "right"
    for name, count in counts:
        grid.add_row(plain(name), f"{count:,}")
    stdout().print(grid)
    stdout().print(f"Wrote {plain(path, 500)}", soft_wrap=True)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write.")] = Path("chary-demo"),
    seed: _SEED = 0,
    force: _FORCE = False,
) -> None:
    """Hide most labels of a table that ships with scikit-learn, find them again, and compare with the truth."""
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
    result, paths = _run_label(path, TARGET, out, force, seed=seed)
    _show_label(result, paths)
    _show_truth(result, hidden, seed)
    console.print(f"Open the report: [bold]{plain(paths['report'], 500)}[/bold]", soft_wrap=True)
    console.print(f"[dim]{time.perf_counter() - start:.0f} seconds in all.[/dim]")


@app.callback(invoke_without_command=True)
def _options(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        stdout().print(f"chary {__version__}", highlight=False)
        raise typer.Exit


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0 is success, 1 a bad input told in one sentence, 130 an interruption."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler and current_thread() is main_thread():
        # Polars put a handler of its own in its place when it was imported, which can swallow Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = app(arguments, standalone_mode=False) or 0
        return _fail(_INTERRUPTED, 130) if code == 130 else code
    except (typer.Abort, KeyboardInterrupt):
        return _fail(_INTERRUPTED, 130)
    except (ValueError, OSError) as error:
        return _fail(sentence(error), 1)
    except MemoryError:
        return _fail("The table does not fit into memory; leave columns out with --drop, or take fewer rows.", 1)
    except (Exception, pl.exceptions.PanicException) as error:
        if hasattr(error, "format_message"):  # a usage error of Click, under whichever name Typer ships it
            message = error.format_message()
            return (
                _fail(f"{message.rstrip('.')}; try --help.", 1) if message else 0
            )  # without a word: the help was shown
        if os.environ.get("CHARY_DEBUG"):
            raise
        found = f"{type(error).__name__}: {error}"
        return _fail(f"A mistake in chary itself ({found}); please report it. CHARY_DEBUG=1 shows where it is.", 1)


# ---------------------------------------------------------------- running


def _run_label(
    file: Path,
    target: str,
    out: Path | None,
    force: bool,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    **options: Any,
) -> tuple[LabeledTable, dict[str, Path]]:
    """Read, label, write; where the outputs are."""
    folder = out or file.parent
    paths = {"model": folder / f"{file.stem}.model.chary", "report": folder / f"{file.stem}.report.html"}
    with steps() as step:
        step("Reading")
        table = read_quietly(file, delimiter, encoding)
        target_labels(table, target, options.get("unlabeled"))  # a wrong target is said first
        paths = {"labeled": folder / f"{file.stem}.labeled{_suffix(table, file)}", **paths}
        require_free(paths.values(), force)
        result = label_table(table, target, progress=step, **options)
        step("Writing")
        with atomic_write(paths["labeled"], overwrite=force) as stream:
            write_table(table, result.added_columns, stream)
        save(result.model, paths["model"], overwrite=force)
        with atomic_write(paths["report"], overwrite=force) as stream:
            stream.write(render_report(result).encode("utf-8", "backslashreplace"))
    return result, paths


def _suffix(table: Table, file: Path) -> str:
    """The input's own extension where it names a text table."""
    return file.suffix if table.delimiter and file.suffix.lower() in (".tsv", ".txt", ".tab") else table.suffix


# ---------------------------------------------------------------- showing


def _show_label(result: LabeledTable, paths: dict[str, Path]) -> None:
    console = stdout()
    grid = Grid("Class", *(source.capitalize() for source in _SOURCES), box=box.SIMPLE, title_justify="left")
    for column in grid.columns[1:]:
        column.justify = "right"
    for code, name in enumerate(result.labels.classes):
        counts = [int(((result.codes == code) & (result.source == source)).sum()) for source in _SOURCES]
        grid.add_row(plain(name), *(f"{count:,}" for count in counts))
    grid.add_section()
    grid.add_row("all", *(f"{int((result.source == source).sum()):,}" for source in _SOURCES))
    console.print(grid)
    columns = result.model[0].columns_
    _show_columns("Left out", [column for column in columns if not column.used])
    _show_columns("Read as", [column for column in columns if column.used and column.form and column.note])
    _show_verdict(result.diagnosis, f"Y{result.prior.sentence[1:]}." if result.prior.told else "")
    show_audit(result)
    for kind, path in paths.items():
        console.print(f"{kind:>8}  {plain(path, 500)}", soft_wrap=True, highlight=False)


def _show_columns(what: str, columns: list[Column]) -> None:
    if columns:
        names = ", ".join(f"{plain(column.name, 30)} ({column.note})" for column in columns[:5])
        more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
        stdout().print(f"{what}: {names}{more}.\n", highlight=False)


def _show_diagnosis(diagnosis: Diagnosis) -> None:
    grid = Grid("Feature", "Difference", "p", box=box.SIMPLE)
    for column in grid.columns[1:]:
        column.justify = "right"
    for shift in diagnosis.shifts[:10]:
        grid.add_row(plain(shift.name), f"{shift.difference:+.2f}", p_value(shift.p_value))
    console = stdout()
    if diagnosis.shifts:
        console.print("What differs most between labelled and other rows, in standard deviations:")
        console.print(grid)
    if diagnosis.separation and diagnosis.coverage is not None:
        auc, low, high, _ = diagnosis.separation
        console.print(
            f"Telling labelled from other rows: AUC {auc:.2f} ({low:.2f} to {high:.2f}; 0.5 is chance).\n"
            f"Other rows that have a label near: {diagnosis.coverage:.0%} (95% if labels were drawn at random).\n",
            highlight=False,
        )
    _show_verdict(diagnosis, advice(diagnosis.verdict))


def _show_verdict(diagnosis: Diagnosis, remark: str) -> None:
    colour = {REPRESENTATIVE: "green", STRONG: "red"}.get(diagnosis.verdict, "yellow")
    panel = Panel(diagnosis.sentence, title=diagnosis.verdict, title_align="left", border_style=colour, width=100)
    stdout().print(panel)
    if remark:
        stdout().print(f"{plain(remark, 500)}\n", highlight=False)


def _show_truth(result: LabeledTable, hidden: HiddenLabels, seed: int) -> None:
    """What the user could not know: accuracy on the labels that were hidden."""
    pool = ~hidden.labeled
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


def _columns_grid(columns: list[Column]) -> Grid:
    grid = Grid("Column", "Kind", "Note", box=box.SIMPLE)
    for column in columns[:40]:
        grid.add_row(plain(column.name), column.kind, plain(column.note))
    if len(columns) > 40:
        grid.add_row(f"and {len(columns) - 40:,} more", "", "")
    return grid


# ---------------------------------------------------------------- for programs


def _label_figures(result: LabeledTable, paths: dict[str, Path]) -> dict[str, Any]:
    return {
        "rows": len(result.codes),
        "sources": {source: int((result.source == source).sum()) for source in _SOURCES},
        "labels": {
            str(name): int((result.codes == code).sum()) for code, name in enumerate(result.labels.classes)
        },
        "diagnosis": _diagnosis_figures(result.diagnosis),
        "acceptance": [level._asdict() for level in result.levels],
        "audit": audit_json(result.audit),
        "class_prior": result.prior.sentence,
        "rows_to_label": (result.next_rows + 1).tolist(),
        "columns": {column.name: column.kind for column in result.model[0].columns_},
        "settings": result.settings,
        "files": {kind: str(path) for kind, path in paths.items()},
    }


def _diagnosis_figures(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "verdict": diagnosis.verdict,
        "sentence": diagnosis.sentence,
        "separation": diagnosis.separation._asdict() if diagnosis.separation else None,
        "coverage": diagnosis.coverage,
        "labeled": diagnosis.n_labeled,
        "unlabeled": diagnosis.n_unlabeled,
        "classes": diagnosis.class_counts,
        "shifts": [shift._asdict() for shift in diagnosis.shifts[:20]],
    }


def _fail(sentence: str, code: int) -> int:
    stderr().print(f"[bold red]chary:[/bold red] {plain(sentence, 800)}", soft_wrap=True, highlight=False)
    return code


if __name__ == "__main__":
    sys.exit(main())
