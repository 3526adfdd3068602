"""Results of a study in; its folder out: the report, every number of it, a figure; each file written whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from chary._files import atomic_write
from chary.studies.figures import draw
from chary.studies.results import import_results, results_of, to_csv, to_markdown
from chary.studies.store import Store
from chary.studies.study import MissingExtraError, Results, Study


def write_report(study: Study, results: Results, folder: Path, companion: Results = ()) -> list[Path]:
    """Write ``report.md`` and ``results.csv``; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"report.md": to_markdown(study, results, companion), "results.csv": to_csv(study, results)}
    for name, text in texts.items():
        with atomic_write(folder / name, overwrite=True) as file:
            file.write(text.encode())
    return [folder / name for name in texts]


def write_figure(study: Study, results: Results, folder: Path) -> Path:
    """Write ``figure.png``, the same bytes for the same results; returns its path."""
    try:
        figure = draw(study, results).figure
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise MissingExtraError("The figure needs matplotlib: pip install 'chary[plots]'.") from error
    with atomic_write(folder / "figure.png", overwrite=True) as file:
        figure.savefig(file, format="png", metadata={"Software": None})  # type: ignore[union-attr]
    return folder / "figure.png"


def companion_of(
    study: Study, results: Results, n_seeds: int | None, store: Store, source: Path | None = None
) -> Results:
    """The same methods on the same data sets under random labels, as far as they are there.

    From the store; or, where the results come from a file ``table-ssb/cells.json.gz``, from the file of that name
    in the folder of the companion, ``table-iid``.
    """
    if not study.companion:
        return []
    names = list(dict.fromkeys(cell.dataset for cell, _ in results))
    cells = replace(study, labelings=("iid",)).cells(names, n_seeds)
    if source is None:
        return results_of(study, cells, store)
    beside = source.absolute().parent.with_name(study.companion) / source.name
    return import_results(beside, cells) if beside.exists() else []
