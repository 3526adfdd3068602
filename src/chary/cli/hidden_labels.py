"""A table that ships with scikit-learn in; the same with most labels hidden, and who finds them again, out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier as ScikitSelfTraining

from chary.method import Curriculum, DiverseEnsembleClassifier, SelfTrainingClassifier
from chary.studies import selection_biased

TARGET = "diagnosis"
# As many labels as a person gives in an hour, and the strength of the bias in the paper's studies.
N_LABELED, STRENGTH = 30, 2.0


class HiddenLabels(NamedTuple):
    """A table with most labels hidden."""

    frame: pl.DataFrame  # features, and the target with its gaps
    X: NDArray[np.float64]  # the features, standardised
    truth: NDArray[Any]  # (n,) all labels
    labeled: NDArray[np.bool_]  # (n,) where the label was kept


def hide_labels(seed: int = 0) -> HiddenLabels:
    """Breast tumours under the microscope; the more extreme a case for its class, the sooner it got a label."""
    data = load_breast_cancer(as_frame=False)
    X = StandardScaler().fit_transform(data.data)
    truth = np.array(["malignant", "benign"], dtype=object)[data.target]
    labeled = selection_biased(X, truth.astype(str), N_LABELED, STRENGTH, random_state=seed)
    columns = {name: data.data[:, j] for j, name in enumerate(data.feature_names)}
    given = [label if kept else None for label, kept in zip(truth, labeled, strict=True)]
    frame = pl.DataFrame({**columns, TARGET: given})
    return HiddenLabels(frame, X, truth.astype(str), labeled)


def rivals(hidden: HiddenLabels, seed: int = 0) -> dict[str, float]:
    """Accuracy on the hidden labels of classifiers that saw the same given ones."""
    X, truth, labeled = hidden.X, hidden.truth, hidden.labeled
    codes = np.where(labeled, truth == "malignant", -1)
    plain = LogisticRegression(max_iter=1000).fit(X[labeled], codes[labeled])
    scikit = ScikitSelfTraining(LogisticRegression(max_iter=1000)).fit(X, codes)
    chary = SelfTrainingClassifier(
        DiverseEnsembleClassifier(random_state=seed), policy=Curriculum(0.4), max_rounds=1
    )
    models = {
        "logistic regression": plain,
        "scikit-learn's self-training": scikit,
        "chary": chary.fit(X, codes),
    }
    hidden_truth = (truth == "malignant")[~labeled]
    return {name: float(np.mean(model.predict(X[~labeled]) == hidden_truth)) for name, model in models.items()}
