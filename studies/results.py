"""Summaries of a study's results: tables beside the paper's, Markdown, CSV, a figure."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chary._files import atomic_write
from chary._words import listed
from studies.datasets import dataset_title
from studies.store import Store, key_of
from studies.study import Cell, ResultList, Results, Study, TextTable


class Line(NamedTuple):
    """One number by data set, labelling, method and value, for each seed, in its unit."""

    dataset: str
    labeling: str
    method: str
    value: Any
    metric: str
    by_seed: dict[int, float]

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return float(np.mean(list(self.by_seed.values())))

    @property
    def std(self) -> float:
        """Over the seeds, ddof 0 as in the paper."""
        return float(np.std(list(self.by_seed.values())))


def results_of(cells: Iterable[Cell], store: Store) -> ResultList:
    """The cells that the store holds, with their results.

    Parameters
    ----------
    cells : iterable of Cell
        From ``study.cells()``.
    store : Store
        Where ``run`` put them.

    Returns
    -------
    ResultList
        A list of (cell, result); its ``to_frame()`` gives a pandas frame, a row for each cell.
    """
    found = ((cell, store.read(key_of(cell.content()))) for cell in cells)
    return ResultList((cell, record.result) for cell, record in found if record is not None)


def summarize(study: Study, results: Results, metric: str = "") -> list[Line]:
    """Collect the numbers of the results, or of one ``metric``, in the order of the study."""
    lines: dict[tuple[str, str, str, Any, str], dict[int, float]] = defaultdict(dict)
    for cell, result in results:
        derived = study.derive(result) if study.derive else {}
        for name, number in {**result, **derived}.items():
            is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
            if is_number and metric in ("", name):
                place = (cell.dataset, cell.labeling, cell.method, study.value_of(cell), name)
                lines[place][cell.seed] = float(number) * study.metric_of(name).factor
    return [Line(*place, by_seed) for place, by_seed in lines.items()]


def published(study: Study, line: Line) -> tuple[float, float] | None:
    """The mean and the deviation that the paper prints for a line, in percent."""
    paper = study.published(line.labeling) if line.metric == "accuracy" else {}
    return paper.get((line.dataset, line.method))


def to_markdown(study: Study, results: Results, companion: Results = ()) -> str:
    """The whole report of a study as Markdown.

    Parameters
    ----------
    study : Study
        The study.
    results : list of (Cell, dict)
        From ``results_of``.
    companion : list of (Cell, dict), default=()
        Results of the same methods with random labels, for what was lost to the bias.
    """
    blocks = [f"# {study.name}: {study.title}"]
    tables = tables_of(study, results)
    for caption, heads, rows in tables:
        lines = (heads, ["---"] * len(heads), *rows)
        blocks += [f"{caption}.", "\n".join("| " + " | ".join(line) + " |" for line in lines)]
    if not tables:
        blocks += _missing_number(study, results)
    blocks += _labelled_by_biases(study, results)
    said = study.findings(results, companion)
    blocks += ["\n".join(f"- {sentence}" for sentence in said)] if said else []
    return "\n\n".join(blocks) + "\n"


def to_latex(tables: Iterable[TextTable]) -> str:
    r"""Write tables as LaTeX, with the rules of the package booktabs.

    Parameters
    ----------
    tables : iterable of TextTable
        Such as ``tables_of(study, results)``, ``average_ranks`` and ``paired_tests``.

    Examples
    --------
    >>> print(to_latex([TextTable("Accuracy (%)", ["Set", "ours"], [["a_1", "**71 ± 2**"]])]))
    \begin{table}
    \caption{Accuracy (\%).}
    \begin{tabular}{lr}
    \toprule
    Set & ours \\
    \midrule
    a\_1 & \textbf{71 $\pm$ 2} \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    text = ""
    for caption, heads, rows in tables:
        head, *lines = [" & ".join(map(_latex_cell, row)) + r" \\" for row in (heads, *rows)]
        text += "\n".join(
            [
                r"\begin{table}",
                rf"\caption{{{_latex_cell(caption)}.}}",
                rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}",
                r"\toprule",
                head,
                r"\midrule",
                *lines,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )
    return text


def _latex_cell(cell: str) -> str:
    """Escape what LaTeX reads as a command, and set what is bold in Markdown in bold."""
    cell = re.sub(r"([&%$#_{}])", r"\\\1", cell.replace("\\", r"\textbackslash "))
    cell = re.sub(r"\*\*(.*?)\*\*", r"\\textbf{\1}", cell)
    for sign, command in (("±", r"$\pm$"), ("<", "$<$"), ("~", r"\textasciitilde{}")):
        cell = cell.replace(sign, command)
    return cell


def tables_of(study: Study, results: Results) -> list[TextTable]:
    """The tables of a study that have rows."""
    tables = (table(study, results) for table in study.tables or (means_table,))
    return [table for table in tables if table.rows]


def _missing_number(study: Study, results: Results) -> list[str]:
    """Say in a sentence that no result has the number of the study's table."""
    if summarize(study, results, study.metric):
        return []
    plain = {k: v for _, result in results for k, v in result.items() if not isinstance(v, list)}
    # There are no results, or lists alone, such as points to draw.
    if not plain:
        return []
    if study.metric in plain:
        return [f"{study.metric!r} is NaN, or no number, in all results."]
    return [
        f"No result has a number {study.metric!r}, which `metric` names; the measure gives "
        f"{listed(map(repr, plain))}."
    ]


def _labelled_by_biases(study: Study, results: Results) -> list[str]:
    """Say how many rows the study's own biases labelled, on average over seeds."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for cell, result in results:
        if cell.labeling in study.biases and "n_labeled" in result:
            counts[cell.labeling, cell.dataset].append(result["n_labeled"])
    sentences = []
    for labeling in study.biases:
        by_dataset = [
            f"{np.mean(n_labeled):.0f} rows of {dataset_title(dataset)}"
            for (name, dataset), n_labeled in counts.items()
            if name == labeling
        ]
        if by_dataset:
            sentences.append(f"{labeling.upper()} labels {listed(by_dataset)}, on average.")
    return sentences


def to_csv(study: Study, results: Results) -> str:
    """Every summarised number in long form, the paper's beside it.

    Parameters
    ----------
    study : Study
        The study.
    results : list of (Cell, dict)
        From ``results_of``.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    parameter = [study.vary[0]] if study.vary else []
    writer.writerow(
        [
            "dataset",
            "labeling",
            "method",
            *parameter,
            "metric",
            "n",
            "mean",
            "std",
            "paper_mean",
            "paper_std",
        ]
    )
    for line in summarize(study, results):
        value = [line.value] if study.vary else []
        numbers = [len(line.by_seed), f"{line.mean:.4f}", f"{line.std:.4f}"]
        writer.writerow(
            [*line[:3], *value, line.metric, *numbers, *(published(study, line) or ("", ""))]
        )
    return out.getvalue()


def export(results: Results) -> bytes:
    """Cells and results as compressed JSON, the same bytes for the same results.

    Parameters
    ----------
    results : list of (Cell, dict)
        From ``results_of``.
    """
    rows = [{"cell": cell.content(), "result": result} for cell, result in results]
    return gzip.compress(json.dumps(rows, sort_keys=True, separators=(",", ":")).encode(), mtime=0)


def import_results(path: Path) -> ResultList:
    """The cells and results of a file ``cells.json.gz`` that :func:`write_report` wrote.

    Parameters
    ----------
    path : Path
        Of the file.
    """
    packed = path.read_bytes()
    try:
        rows = json.loads(gzip.decompress(packed))
        return ResultList((Cell(**row["cell"]), dict(row["result"])) for row in rows)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} holds no exported cells of studies, or is damaged: {error}."
        ) from error


def write_report(
    study: Study, results: Results, folder: Path, companion: Results = ()
) -> list[Path]:
    """Write the report, all numbers, all cells and the figure; return the paths.

    ``report.md`` and ``report.tex``, ``results.csv``, ``cells.json.gz``, ``figure.png`` and
    ``figure.pdf``.

    Parameters
    ----------
    study : Study
        The study.
    results : list of (Cell, dict)
        From ``results_of``.
    folder : Path
        Made if it is not there.
    companion : list of (Cell, dict), default=()
        Results of the same methods with random labels, for what was lost to the bias.
    """
    contents = {
        "report.md": to_markdown(study, results, companion).encode(),
        "results.csv": to_csv(study, results).encode(),
        "cells.json.gz": export(results),
        "figure.png": figure_bytes(study, results),
        "report.tex": to_latex(tables_of(study, results)).encode(),
        "figure.pdf": figure_bytes(study, results, "pdf"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        with atomic_write(folder / name, overwrite=True) as file:
            file.write(content)
    return [folder / name for name in contents]


def figure_bytes(study: Study, results: Results, kind: str = "png") -> bytes:
    """The figure as PNG or PDF, the same bytes for the same results."""
    from studies.figures import draw

    figure = draw(study, results).figure
    content = io.BytesIO()
    changing = {"png": "Software", "pdf": "CreationDate"}
    figure.savefig(content, format=kind, metadata={changing[kind]: None})
    return content.getvalue()


def shown_value(value: Any) -> str:
    """A value of the varied parameter as it is written in tables.

    >>> shown_value(1 / 3), shown_value("softmax")
    ('0.333333', 'softmax')
    """
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def means_table(study: Study, results: Results) -> TextTable:
    """Lay out data sets by methods, the table of a study that names no tables.

    Bold is the better of softmax and T-similarity of each policy.

    Parameters
    ----------
    study : Study
        Its number is shown, beside the paper's if there is one.
    results : list of (Cell, dict)
        From ``results_of``.
    """
    rows: dict[tuple[str, ...], dict[str, Line]] = defaultdict(dict)
    for line in summarize(study, results, study.metric):
        label = [dataset_title(line.dataset)]
        label += [line.labeling.upper()] if len(study.labelings) > 1 else []
        label += [shown_value(line.value)] if study.vary else []
        rows[tuple(label)][line.method] = line
    methods = [method for method in study.methods if any(method in row for row in rows.values())]
    numbers = {len(line.by_seed) for row in rows.values() for line in row.values()} or {0}
    made_of = f"mean ± standard deviation over {max(numbers)} seeds"
    if numbers == {1}:
        made_of = "one seed"
    if len(numbers) > 1:
        made_of += " ([n]: over n)"
    has_paper = any(published(study, line) for row in rows.values() for line in row.values())
    beside = ", in brackets the paper's" if has_paper else ""
    labels = ["Labels"] if len(study.labelings) > 1 else []
    metric = study.metric_of(study.metric)
    return TextTable(
        f"{study.caption}{metric.words}{beside}, {made_of}",
        [
            "Data set",
            *labels,
            *([study.vary[0]] if study.vary else []),
            *map(study.title_of, methods),
        ],
        [
            [*label, *(_shown(study, row, method, max(numbers)) for method in methods)]
            for label, row in rows.items()
        ],
    )


def _shown(study: Study, row: dict[str, Line], method: str, most: int) -> str:
    line = row.get(method)
    if line is None:
        return ""
    metric = study.metric_of(line.metric)
    policy, _, kind = method.partition("-")
    rival = row.get(f"{policy}-{'tsim' if kind == 'softmax' else 'softmax'}")
    is_best = False
    if kind in ("softmax", "tsim") and rival is not None:
        gain = line.mean - rival.mean
        is_best = gain < 0 if metric.lower_is_better else gain > 0

    decimals = metric.decimals(line.mean)
    ours = f"{line.mean:.{decimals}f}"
    n = len(line.by_seed)
    if n > 1:
        ours += f" ± {line.std:.{decimals}f}"
    if n < most:
        ours += f" [{n}]"
    if is_best:
        ours = f"**{ours}**"
    paper = published(study, line)
    return f"{ours} ({paper[0]:.1f} ± {paper[1]:.1f})" if paper else ours
