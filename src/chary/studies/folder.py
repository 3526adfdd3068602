"""Results of a study in; its folder out: the report, every number of it, a figure; each file written whole."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from chary._files import atomic_write, atomic_writes, folders_for
from chary.studies.figures import draw
from chary.studies.results import import_results, results_of, to_csv, to_markdown
from chary.studies.store import Store
from chary.studies.study import MissingExtraError, Results, Study


def write_report(
    study: Study, results: Results, folder: Path, companion: Results = (), figure: bytes | None = None
) -> list[Path]:
    """Write ``report.md`` and ``results.csv``, and ``figure.png`` if given, all or none; returns their paths.

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
    figure : bytes, default=None
        A picture, as PNG.
    """
    contents = {
        "report.md": to_markdown(study, results, companion).encode(),
        "results.csv": to_csv(study, results).encode(),
        **({} if figure is None else {"figure.png": figure}),
    }
    paths = [folder / name for name in contents]
    with folders_for(paths), atomic_writes(paths, overwrite=True) as files:
        for file, content in zip(files, contents.values(), strict=True):
            file.write(content)
    return paths


def write_figure(study: Study, results: Results, folder: Path) -> Path:
    """Write ``figure.png`` alone; returns its path."""
    content = figure_bytes(study, results)
    with atomic_write(folder / "figure.png", overwrite=True) as file:
        file.write(content)
    return folder / "figure.png"


def figure_bytes(study: Study, results: Results) -> bytes:
    """The figure as PNG, the same bytes for the same results."""
    try:
        figure = draw(study, results).figure
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise MissingExtraError("The figure needs matplotlib: pip install 'chary[plots]'.") from error
    content = io.BytesIO()
    figure.savefig(content, format="png", metadata={"Software": None})  # type: ignore[union-attr]
    return content.getvalue()


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
