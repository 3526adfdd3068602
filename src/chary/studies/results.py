"""Results of a study in; its table, ours beside the paper's, and what follows from it out: Markdown, CSV."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import defaultdict
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import wilcoxon

from chary.evaluation import recovered_share
from chary.studies import datasets
from chary.studies.paper import Cell, Study
from chary.studies.store import Store, key_of

Results = list[tuple[Cell, dict[str, Any]]]

TITLES = {
    "erm": "ERM",
    "pl-softmax": "PL softmax",
    "pl-tsim": "PL T-sim",
    "csta-softmax": "CSTA softmax",
    "csta-tsim": "CSTA T-sim",
    "msta-softmax": "MSTA softmax",
    "msta-tsim": "MSTA T-sim",
    "msta-tsim-prediction": "MSTA T-sim pred.",
    "erm-prior": "ERM + prior",
    "csta-tsim-prior": "CSTA T-sim + prior",
    "msta-tsim-prior": "MSTA T-sim + prior",
    "heads": "mean of heads",
    "diverse-heads": "mean of diverse heads",
    "mixed": "mixed",
    "mixed-st": "mixed + ST",
    "mixed-st-if-biased": "mixed + ST if biased",
    "mixed-prior": "mixed + prior",
    "mixed-prior-st": "mixed + prior + ST",
    "mixed-prior-st-softmax": "mixed + prior + ST softmax",
    "mixed-true": "mixed + true prior",
    "mixed-true-st": "mixed + true prior + ST",
    "erm-random": "ERM + random",
    "erm-same": "ERM + same source",
    "csta-tsim-random": "CSTA T-sim + random",
    "csta-tsim-same": "CSTA T-sim + same source",
    "mixed-random": "Mixed + random",
    "mixed-same": "Mixed + same source",
}
POLICIES = ("pl", "csta", "msta")


class Entry(NamedTuple):
    """One number of a table: mean and standard deviation over seeds (ddof 0, as in the paper), in percent."""

    mean: float
    std: float
    n: int
    paper: tuple[float, float] | None


class Line(NamedTuple):
    """Seeds of one data set, labelling, method and value of the varied parameter."""

    dataset: str
    labeling: str
    method: str
    value: Any
    metric: str
    by_seed: dict[int, float]


def results_of(study: Study, cells: Iterable[Cell], store: Store) -> Results:
    """The cells that the store holds, with their results."""
    found = ((cell, store.read(key_of(cell.content()))) for cell in cells)
    return [(cell, record.result) for cell, record in found if record is not None]


def summarize(study: Study, results: Results) -> list[Line]:
    """Every number of the results, seeds together, in the order of the study."""
    lines: dict[tuple[str, str, str, Any, str], dict[int, float]] = defaultdict(dict)
    for cell, result in results:
        for metric, number in {**result, **_from_histograms(result)}.items():
            if isinstance(number, (int, float)) and not isinstance(number, bool):
                place = (cell.dataset, cell.labeling, cell.method, study.value_of(cell), metric)
                lines[place][cell.seed] = float(number)
    return [Line(*place, by_seed) for place, by_seed in lines.items()]


def entry(study: Study, line: Line) -> Entry:
    """Mean and deviation of a line in percent, beside the paper's where it prints one."""
    numbers = 100 * np.array(list(line.by_seed.values()))
    paper = None
    if line.metric == "accuracy" and study.vary is None:
        paper = paper_numbers(study.name, line.labeling).get((line.dataset, line.method))
    return Entry(float(numbers.mean()), float(numbers.std()), len(numbers), paper)


def paper_numbers(study: str, labeling: str) -> dict[tuple[str, str], tuple[float, float]]:
    """(data set, method) -> the paper's mean and standard deviation, in percent.

    >>> paper_numbers("table-ssb", "ssb")["mushrooms", "csta-tsim"]
    (77.55, 7.65)
    """
    failure = study == "failure-of-softmax"
    if not failure and study not in (f"table-{labeling}", "table-balanced"):
        return {}
    name = "failure_of_softmax.csv" if failure else f"accuracy_{labeling}.csv"
    text = (resources.files("chary.studies") / "published" / name).read_text()
    numbers = {}
    for row in csv.DictReader(io.StringIO(text)):
        if row.get("labeling", labeling).lower() != labeling:
            continue
        dataset = datasets.find(row["dataset"]).name
        for column in row:
            if column.endswith("_mean"):
                method = column.removesuffix("_mean").replace("_", "-")
                method = f"{method}-softmax" if failure and method in POLICIES else method
                std = float(row[column.replace("_mean", "_std")])
                numbers[dataset, method] = (float(row[column]), std)
    return numbers


def pivot(study: Study, results: Results) -> tuple[list[str], list[tuple[list[str], list[Entry | None]]]]:
    """The accuracies as a table: method names, and rows of (labels of the row, entries)."""
    rows: dict[tuple[str, ...], dict[str, Entry]] = defaultdict(dict)
    for line in summarize(study, results):
        if line.metric == _main_metric(study):
            label = [dataset_title(line.dataset)]
            label += [line.labeling.upper()] if len(study.labelings) > 1 else []
            number = isinstance(line.value, (int, float))
            label += [f"{line.value:g}" if number else str(line.value)] if study.vary else []
            rows[tuple(label)][line.method] = entry(study, line)
    methods = [method for method in study.methods if any(method in row for row in rows.values())]
    return methods, [(list(label), [row.get(method) for method in methods]) for label, row in rows.items()]


def findings(study: Study, results: Results, companion: Results = ()) -> list[str]:  # type: ignore[assignment]
    """What the table says, in sentences: agreement with the paper, wins, recovered share, significance.

    ``companion``: the same methods, data sets and seeds under the other labelling, as far as they were run.
    """
    lines = {
        (line.dataset, line.labeling, line.method): line
        for line in summarize(study, results)
        if line.metric == "accuracy"
    }
    said = study.conclude(results, companion) if study.conclude else []
    if study.vary or not lines:
        return said
    for labeling in study.labelings:
        said += _agreement(study, lines, labeling)
        said += _wins(study, lines, labeling)
    said += _recovered(study, lines, companion)
    return said


def _agreement(study: Study, lines: dict[Any, Line], labeling: str) -> list[str]:
    paper = paper_numbers(study.name, labeling)
    near: list[str] = []
    far: list[str] = []
    for (dataset, of, method), line in lines.items():
        if of == labeling and method == "erm" and (dataset, method) in paper:
            mean, std = paper[dataset, method]
            ours = entry(study, line).mean
            (near if abs(ours - mean) <= std else far).append(f"{dataset_title(dataset)} {ours - mean:+.1f}")
    if not near and not far:
        return []
    tail = f"; beyond it: {', '.join(far)} points" if far else ""
    return [
        f"ERM under {labeling.upper()} is within one standard deviation of the paper's on {len(near)} of "
        f"{len(near) + len(far)} data sets{tail}."
    ]


def _wins(study: Study, lines: dict[Any, Line], labeling: str) -> list[str]:
    """T-similarity against softmax, policy by policy, and in all as the paper counts."""
    said, ours, theirs, n_pairs = [], 0, 0, 0
    for policy in POLICIES:
        won, papers, n, sentence = _duel(study, lines, labeling, f"{policy}-tsim", f"{policy}-softmax")
        ours, theirs, n_pairs = ours + won, theirs + papers, n_pairs + n
        said += [sentence] if n else []
    if n_pairs:
        said.append(
            f"In all, {labeling.upper()}: T-similarity beats softmax in {ours} of {n_pairs} pairs of data set and "
            f"policy ({theirs} in the paper's table)."
        )
    *_, n, sentence = _duel(study, lines, labeling, "msta-tsim-prediction", "msta-softmax")
    return [*said, sentence] if n else said


def _duel(
    study: Study, lines: dict[Any, Line], labeling: str, challenger: str, rival: str
) -> tuple[int, int, int, str]:
    """Data sets won here, won in the paper's table, and compared; and a sentence on it."""
    names = [name for name, of, method in lines if (of, method) == (labeling, challenger)]
    pairs = [
        (lines[n, labeling, challenger], lines[n, labeling, rival]) for n in names if (n, labeling, rival) in lines
    ]
    if not pairs:
        return 0, 0, 0, ""
    gains = np.array([entry(study, a).mean - entry(study, b).mean for a, b in pairs])
    significant = np.array([_p_value(a, b) < 0.05 for a, b in pairs])
    won = int(np.sum(gains > 0))
    paper = paper_numbers(study.name, labeling)
    papers = sum(paper[n, challenger][0] > paper[n, rival][0] for n in names if (n, challenger) in paper)
    beside = f" ({papers} in the paper's table)" if any((n, challenger) in paper for n in names) else ""
    sentence = (
        f"{title_of(challenger)} beats {title_of(rival)} under {labeling.upper()} on {won} of {len(pairs)} data "
        f"sets{beside}, by {gains.mean():+.1f} points on average; paired over seeds (Wilcoxon, p < 0.05) better "
        f"on {np.sum(significant & (gains > 0))}, worse on {np.sum(significant & (gains < 0))}."
    )
    return won, papers, len(pairs), sentence


def _recovered(study: Study, lines: dict[Any, Line], companion: Results) -> list[str]:
    baseline: dict[str, dict[int, float]] = defaultdict(dict)
    for cell, result in companion:
        if cell.labeling == "iid" and cell.method == "erm":
            baseline[cell.dataset][cell.seed] = result["accuracy"]
    for (dataset, labeling, method), line in lines.items():
        if labeling == "iid" and method == "erm":
            baseline[dataset] = line.by_seed
    shares: dict[str, list[float]] = defaultdict(list)
    for (dataset, labeling, method), line in lines.items():
        biased = lines.get((dataset, "ssb", "erm"))
        if labeling == "ssb" and method != "erm" and biased and dataset in baseline:
            means = [np.mean(list(d.values())) for d in (line.by_seed, biased.by_seed, baseline[dataset])]
            share = 100 * float(recovered_share(*means))
            shares[method] += [] if np.isnan(share) else [share]
    return [
        f"{title_of(method)} wins back {np.median(share):.0f} % of the accuracy lost to the bias "
        f"(median over {len(share)} data sets; from {min(share):.0f} % to {max(share):.0f} %)."
        for method, share in shares.items()
        if share
    ]


def _p_value(a: Line, b: Line) -> float:
    """Two-sided Wilcoxon signed-rank test over the seeds both have."""
    seeds = sorted(set(a.by_seed) & set(b.by_seed))
    differences = np.array([a.by_seed[seed] - b.by_seed[seed] for seed in seeds]).round(12)
    if len(differences) < 6 or not differences.any():  # fewer can never reach p < 0.05
        return 1.0
    return float(wilcoxon(differences, zero_method="zsplit").pvalue)


def to_markdown(study: Study, results: Results, companion: Results = ()) -> str:  # type: ignore[assignment]
    """The whole report of a study as Markdown."""
    methods, rows = pivot(study, results)
    most = max((e.n for _, entries in rows for e in entries if e), default=0)
    heads = [
        "Data set",
        *(["Labels"] if len(study.labelings) > 1 else []),
        *([study.vary[0]] if study.vary else []),
    ]
    text = [f"# {study.name}: {study.title}", ""]
    if rows:
        text += [f"{_caption(study)}, mean ± standard deviation over {seeds_of(rows)}.", ""]
        table = [[*heads, *map(title_of, methods)], ["---"] * (len(heads) + len(methods))]
        for label, entries in rows:
            table.append(
                [
                    *label,
                    *(_shown(e, best, most) for e, best in zip(entries, bests(methods, entries), strict=True)),
                ]
            )
        text += ["| " + " | ".join(line) + " |" for line in table]
    text += [""] + [f"- {sentence}" for sentence in findings(study, results, companion)]
    return "\n".join(text).rstrip() + "\n"


def to_csv(study: Study, results: Results) -> str:
    """Every summarised number in long form, the paper's beside it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    parameter = [study.vary[0]] if study.vary else []
    writer.writerow(
        ["dataset", "labeling", "method", *parameter, "metric", "n", "mean", "std", "paper_mean", "paper_std"]
    )
    for line in summarize(study, results):
        e = entry(study, line)
        scale = 1 if line.metric == "n_rounds" else 100
        value = [line.value] if study.vary else []
        numbers = [f"{e.mean * scale / 100:.4f}", f"{e.std * scale / 100:.4f}"]
        writer.writerow([*line[:3], *value, line.metric, e.n, *numbers, *(e.paper or ("", ""))])
    return out.getvalue()


def export(results: Results, path: Path) -> None:
    """Cells and results in one compressed JSON file, the same bytes for the same results."""
    rows = [{"cell": cell.content(), "result": result} for cell, result in results]
    text = json.dumps(rows, sort_keys=True, separators=(",", ":")).encode()
    path.write_bytes(gzip.compress(text, mtime=0))


def import_results(path: Path) -> Results:
    """What :func:`export` wrote."""
    rows = json.loads(gzip.decompress(path.read_bytes()))
    return [(Cell(**row["cell"]), row["result"]) for row in rows]


def title_of(method: str) -> str:
    """A method's name in tables; a user's own as it is."""
    return TITLES.get(method, method)


def bests(methods: list[str], entries: list[Entry | None]) -> list[bool]:
    """Which entries to set in bold: the better of softmax and T-similarity of each policy."""
    by_method = dict(zip(methods, entries, strict=True))
    marks = []
    for method, e in by_method.items():
        policy, _, kind = method.partition("-")
        rival = by_method.get(f"{policy}-{'tsim' if kind == 'softmax' else 'softmax'}")
        marks.append(kind in ("softmax", "tsim") and e is not None and rival is not None and e.mean > rival.mean)
    return marks


def seeds_of(rows: list[tuple[list[str], list[Entry | None]]]) -> str:
    """How many seeds the entries of a table have."""
    numbers = [e.n for _, entries in rows for e in entries if e]
    few = " ([n]: over n)" if min(numbers) < max(numbers) else ""
    return f"{max(numbers)} seed{'s' if max(numbers) > 1 else ''}{few}"


def _shown(e: Entry | None, best: bool, most: int) -> str:
    if e is None:
        return ""
    ours = f"{e.mean:.1f} ± {e.std:.1f}" + (f" [{e.n}]" if e.n < most else "")
    paper = f" ({e.paper[0]:.1f} ± {e.paper[1]:.1f})" if e.paper else ""
    return (f"**{ours}**" if best else ours) + paper


def _caption(study: Study) -> str:
    metric = {
        "calibration": "Calibration error of T-similarity",
        "leave_one_out": "Leave-one-out accuracy",
        "confidence_histogram": "Wrong predictions that T-similarity gives more than 0.9",
    }.get(study.measure.__name__, "Test accuracy")
    beside = ", in brackets the paper's" if any(paper_numbers(study.name, x) for x in study.labelings) else ""
    return f"{metric} in percent{beside}"


def _main_metric(study: Study) -> str:
    return {
        "calibration": "t_similarity_ece",
        "leave_one_out": "leave_one_out",
        "confidence_histogram": "t_similarity_wrong_above_0.9",
    }.get(study.measure.__name__, "accuracy")


def _from_histograms(result: dict[str, Any]) -> dict[str, float]:
    """Of the wrong and of the right predictions, the share with a confidence above 0.9 (20 bins)."""
    shares = {}
    for name, counts in result.items():
        if name.endswith(("_right", "_wrong")) and isinstance(counts, list) and sum(counts):
            shares[f"{name}_above_0.9"] = sum(counts[18:]) / sum(counts)
    return shares


def dataset_title(dataset: str) -> str:
    """A data set's name in tables; a file of one's own by its name."""
    try:
        return datasets.find(dataset).title
    except datasets.DatasetError:
        return Path(dataset).stem
