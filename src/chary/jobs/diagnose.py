"""A table with a few labels in; its features, and whether the labelled rows are like the rest, out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.evaluation import Diagnosis, diagnose
from chary.jobs.contrasts import Contrast, contrasts
from chary.method import Labels
from chary.tables import Column, Table, TablePreparation, target_labels


class Prepared(NamedTuple):
    """The features of a table."""

    X: NDArray[Any]  # (n, d)
    preparation: TablePreparation  # fitted


@dataclass(frozen=True)
class DiagnosedTable:
    """The outcome of ``diagnose_table``."""

    table: Table
    target: str
    labels: Labels
    prepared: Prepared
    diagnosis: Diagnosis
    contrasts: list[Contrast]  # of the columns that differ most

    @property
    def columns(self) -> list[Column]:
        """What each column was taken for."""
        return self.prepared.preparation.columns_


def diagnose_table(
    table: Table,
    target: str,
    *,
    unlabeled: str | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    identifier: Sequence[str] = (),
    seed: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> DiagnosedTable:
    """Tell whether the labelled rows of a table are like the rest. Parameters as in ``label_table``."""
    progress("Preparing columns")
    labels = target_labels(table, target, unlabeled)
    prepared = prepare(table, target, drop, categorical, numeric, identifier)
    progress("Comparing labelled and unlabelled rows")
    diagnosis = compare_rows(prepared, labels, seed)
    differing = contrasts(prepared.X, prepared.preparation, labels.labeled, diagnosis)
    return DiagnosedTable(table, target, labels, prepared, diagnosis, differing)


def prepare(
    table: Table,
    target: str,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    identifier: Sequence[str] = (),
) -> Prepared:
    """The columns of a table, but the target, as features."""
    features = features_of(table, target)
    preparation = TablePreparation(drop=drop, categorical=categorical, numeric=numeric, identifier=identifier)
    return Prepared(preparation.fit(features).transform(features), preparation)


def features_of(table: Table, target: str) -> pl.DataFrame:
    """What a preparation is given of a table."""
    return table.frame.drop(target)


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
