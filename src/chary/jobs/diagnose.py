"""A table with a few labels in; its features, and whether the labelled rows are like the rest, out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.evaluation import Diagnosis, diagnose
from chary.jobs.contrasts import Contrast, contrasts
from chary.method import Labels
from chary.tables import Column, Table, TablePreparation, read_target, with_features


class Prepared(NamedTuple):
    """The features of a table."""

    X: NDArray[Any]  # (n, d)
    preparation: TablePreparation  # fitted
    n_missing: dict[str, int]  # cells without a number, by column


@dataclass(frozen=True)
class DiagnosedTable:
    """The outcome of ``diagnose_table``."""

    table: Table
    target: str
    labels: Labels
    prepared: Prepared
    diagnosis: Diagnosis
    contrasts: list[Contrast]  # of the columns that differ most
    spellings: dict[str, dict[str, int]] = field(default_factory=dict)  # of classes that have several
    notes: list[str] = field(default_factory=list)  # on how table and target were read, a sentence each

    @property
    def columns(self) -> list[Column]:
        """What each column was taken for."""
        return self.prepared.preparation.columns_


def diagnose_table(
    table: Table,
    target: str,
    *,
    unlabeled: str | Sequence[str] | None = None,
    exact_labels: bool = False,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    identifier: Sequence[str] = (),
    missing: Sequence[str] = (),
    text: Sequence[str] = (),
    features: str | os.PathLike[str] | None = None,
    seed: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> DiagnosedTable:
    """Tell whether the labelled rows of a table are like the rest.

    Parameters
    ----------
    table : Table
        From ``read_table``.
    target : str
        The column that holds the labels.
    unlabeled : str or sequence of str, default=None
        Cell values that mean "no label", besides empty cells.
    exact_labels : bool, default=False
        Whether labels that differ in nothing but case and white space are different classes.
    drop, categorical, numeric, identifier, missing, text : sequences of str, default=()
        As in ``label_table``.
    features : path, default=None
        A NumPy file (.npy) with further numbers for each row of the table.
    seed : int, default=0
        Of the folds and shuffles that the verdict rests on.
    progress : callable
        Told the name of each step.
    """
    progress("Preparing columns")
    read = read_target(table, target, unlabeled, exact_labels=exact_labels)
    kinds = {"drop": drop, "categorical": categorical, "numeric": numeric, "identifier": identifier, "text": text}
    prepared = prepare(table, target, features, **kinds, missing=missing)
    progress("Comparing labelled and unlabelled rows")
    diagnosis = compare_rows(prepared, read.labels, seed)
    differing = contrasts(prepared.X, prepared.preparation, read.labels.labeled, diagnosis)
    notes = [*table.notes, *read.notes]
    return DiagnosedTable(table, target, read.labels, prepared, diagnosis, differing, read.spellings, notes)


def prepare(
    table: Table, target: str, features: str | os.PathLike[str] | None = None, **kinds: Sequence[str]
) -> Prepared:
    """The columns of a table, but the target, as features; and those of a file beside it, if there is one."""
    frame = features_of(table, target, features)
    preparation = TablePreparation(**kinds).fit(frame)
    X, n_missing = preparation.transform_counted(frame)
    return Prepared(X, preparation, n_missing)


def features_of(table: Table, target: str, features: str | os.PathLike[str] | None = None) -> pl.DataFrame:
    """What a preparation is given of a table, and of a file beside it."""
    return with_features(table.frame.drop(target), features)


def compare_rows(prepared: Prepared, labels: Labels, seed: int) -> Diagnosis:
    """Labelled against unlabelled rows, with the names and counts that a person needs."""
    counts = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes)).tolist()
    return diagnose(
        prepared.X,
        labels.labeled,
        feature_names=prepared.preparation.get_feature_names_out().tolist(),
        class_counts=dict(zip(labels.classes.tolist(), counts, strict=True)),
        random_state=seed,
    )
