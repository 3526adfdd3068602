"""The methods of the paper and their measures: PL, CSTA and MSTA with either confidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from chary import (
    Curriculum,
    FixedThreshold,
    MixedEnsembleClassifier,
    SelfTrainingClassifier,
    TransductiveBound,
)
from chary.method import (
    confidence_auroc,
    expected_calibration_error,
    risk_coverage_curve,
    t_share,
    t_similarity,
)
from chary.method.estimators import predicted_labels
from studies.study import ERM, Method, Task, accuracy, right_on_test


def pseudo_labels(
    task: Task, confidence: str, threshold: float, **options: Any
) -> SelfTrainingClassifier:
    """PL: accept above a fixed threshold."""
    return _self_train(task, confidence, FixedThreshold(threshold), **options)


def curriculum(task: Task, confidence: str, step: float, **options: Any) -> SelfTrainingClassifier:
    """CSTA: accept a growing share."""
    return _self_train(task, confidence, Curriculum(step), **options)


def transductive(task: Task, confidence: str, index: str, **options: Any) -> SelfTrainingClassifier:
    """MSTA: accept what a bound on the error allows."""
    return _self_train(task, confidence, TransductiveBound(index=index), **options)


def _self_train(task: Task, confidence: str, policy: Any, **options: Any) -> SelfTrainingClassifier:
    model = SelfTrainingClassifier(
        task.estimator(), policy=policy, confidence=confidence, **options
    )
    return model.fit(task.X, task.y, initial=task.initial)


def _both(name: str, run: Callable[..., Any], **options: Any) -> dict[str, Method]:
    return {
        f"{name}-softmax": Method(
            run, {"confidence": "softmax", **options}, f"{name.upper()} softmax"
        ),
        f"{name}-tsim": Method(
            run, {"confidence": "t_similarity", **options}, f"{name.upper()} T-sim"
        ),
    }


POLICIES = ("pl", "csta", "msta")
PL = _both("pl", pseudo_labels, threshold=0.8)
CSTA = _both("csta", curriculum, step=0.4)
MSTA = _both("msta", transductive, index="prediction")
SELF_TRAINING = {**PL, **CSTA, **MSTA}
# Two other readings of which class's threshold a row must reach: see TransductiveBound.
_OTHER_READINGS = {
    f"msta-tsim-{index}": Method(
        transductive, {"confidence": "t_similarity", "index": index}, f"MSTA T-sim {title}"
    )
    for index, title in (("confidence", "conf."), ("mixed", "mixed"))
}
TABLE = {**ERM, **SELF_TRAINING, **_OTHER_READINGS}


def as_the_authors(methods: Mapping[str, Method]) -> dict[str, Method]:
    """Build the methods as the paper's numbers show them: PL and CSTA go on from their weights.

    Their refits start from the weights of the round before, those of MSTA from random ones. A
    method that is the same in both protocols has the same cells.
    """
    return {
        name: method._replace(options={**method.options, "warm_start": True})
        if name.partition("-")[0] in ("pl", "csta")
        else method
        for name, method in methods.items()
    }


def first_mixture(task: Task, n_rows: int | None = None) -> MixedEnsembleClassifier:
    """Two linear models and trees, which count twice: chary's first unlike learners, not fitted.

    The stored results of the studies of priors, audits and learners rest on them; those of
    ``tables`` and ``tables-paper`` on today's. ``n_rows``: that they will see, if not all of the
    task's.
    """
    quantiles = QuantileTransformer(
        n_quantiles=min(1000, n_rows or len(task.X)), output_distribution="normal"
    )
    members = [
        ("linear", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))),
        ("quantile", make_pipeline(quantiles, LogisticRegression(max_iter=1000))),
        ("trees", ExtraTreesClassifier(200, max_features=0.5), 2.0),
    ]
    return MixedEnsembleClassifier(members, random_state=task.random_state)


CONFIDENCES = ("softmax", "t_similarity")
FOUR = (*CONFIDENCES, "t_share", "head_mean")
_KIND = {"softmax": "max_probability", "t_similarity": "t_similarity"}


def calibration(task: Task, fitted: Any) -> dict[str, Any]:
    """How honest both confidences are on the unlabelled rows."""
    result: dict[str, Any] = {"accuracy": float(right_on_test(task, fitted).mean())}
    for name, confidence, right in _confidences(task, fitted):
        result |= _errors(name, confidence, right)
        result[f"{name}_aurc"] = risk_coverage_curve(confidence, right).area
    return result


def _errors(name: str, confidence: NDArray[Any], right: NDArray[np.bool_]) -> dict[str, Any]:
    auroc = confidence_auroc(confidence, right)
    return {
        f"{name}_ece": expected_calibration_error(confidence, right),
        f"{name}_ece_mass": expected_calibration_error(confidence, right, bins="mass"),
        f"{name}_auroc": None if np.isnan(auroc) else auroc,
    }


def calibration_errors(task: Task, fitted: Any) -> dict[str, Any]:
    """Measure the calibration of four confidences on unlabelled rows, and the paper's of two."""
    X, y = task.X[~task.labeled], task.y_true[~task.labeled]
    probs, head_probs = fitted.predict_joint_proba(X)  # (n, C), (n, M, C)
    codes = probs.argmax(axis=1)
    right = fitted.classes_[codes] == y
    result: dict[str, Any] = {"accuracy": float(right.mean())}
    for name, confidence in _four_confidences(probs, head_probs, codes).items():
        result |= _errors(name, confidence, right)
        if name in CONFIDENCES:
            result[f"{name}_notebook"] = notebook_error(confidence, y)
    result["softmax_gap"] = float(abs(probs.max(axis=1).mean() - np.mean(y == 1)))
    return result


def notebook_error(confidence: NDArray[Any], codes: NDArray[Any], n_bins: int = 5) -> float:
    r"""Compute what the paper shows as the calibration error, which is another quantity.

    With class codes y in {0, 1}, bins b of equal width and confidence c, the model's prediction is
    not used:

    .. math::
        \sum_b \frac{n_b}{n} \, \bigl| \overline{[\, [c > 1/2] = y \,]}_b - \overline{c}_b \bigr|

    Above one half, "right" thus means "of class 1". The softmax confidence of two classes lies
    above one half: the sum is then at least | mean of c - share of class 1 |, and equal to it where
    all bins differ in the same sign.
    """
    return expected_calibration_error(confidence, (confidence > 0.5) == codes, n_bins)


def confidence_histogram(task: Task, fitted: Any) -> dict[str, Any]:
    """Counts of right and wrong predictions on the unlabelled rows, in 20 bins of confidence."""
    result = {}
    for name, confidence, right in _confidences(task, fitted):
        result[f"{name}_right"] = np.histogram(confidence[right], 20, (0, 1))[0].tolist()
        result[f"{name}_wrong"] = np.histogram(confidence[~right], 20, (0, 1))[0].tolist()
    return result


def shares_of_the_sure(result: dict[str, Any]) -> dict[str, float]:
    """Compute the share of confidences above 0.9 from counts of right and wrong predictions.

    With it come the share of all predictions above 0.9, the share of these that are wrong, and the
    share of the wrong ones below 0.5.
    """
    shares = {}
    for kind in CONFIDENCES:
        right, wrong = (
            np.array(result.get(f"{kind}_{outcome}", [0] * 20)) for outcome in ("right", "wrong")
        )
        for name, part, whole in (
            ("right_above_0.9", right[18:], right),
            ("wrong_above_0.9", wrong[18:], wrong),
            ("above_0.9", (right + wrong)[18:], right + wrong),
            ("error_above_0.9", wrong[18:], (right + wrong)[18:]),
            ("wrong_below_0.5", wrong[:10], wrong),
        ):
            if whole.sum():
                shares[f"{kind}_{name}"] = float(part.sum() / whole.sum())
    return shares


def leave_one_out(task: Task, fitted: Any) -> dict[str, Any]:
    """Score each labelled row by a model of the others, beside the full model's test accuracy."""
    # Backbone and prediction head never see the unlabelled rows, nor the ensemble's gradient: leave
    # them out.
    X, y = task.X[task.labeled], task.y[task.labeled]
    predicted = cross_val_predict(task.estimator(), X, y, cv=LeaveOneOut())
    return {"leave_one_out": float(np.mean(predicted == y)), **accuracy(task, fitted)}


def projections(task: Task, fitted: Any) -> dict[str, Any]:
    """Project all and labelled rows on two principal components, thinned to 600."""
    scores = PCA(2, svd_solver="covariance_eigh").fit_transform(task.X)
    shown = np.random.default_rng(task.random_state).permutation(len(scores))[:600]
    edges = np.histogram_bin_edges(scores[:, 0], 40)
    return {
        "edges": edges.round(4).tolist(),
        "all": np.histogram(scores[:, 0], edges)[0].tolist(),
        "labeled": np.histogram(scores[task.labeled, 0], edges)[0].tolist(),
        "points_all": scores[shown].round(3).tolist(),
        "points_labeled": scores[task.labeled].round(3).tolist(),
    }


def plane(task: Task, fitted: Any) -> dict[str, Any]:
    """Both confidences and the prediction on a grid over two-dimensional data."""
    low, high = task.X.min(axis=0) - 0.4, task.X.max(axis=0) + 0.4
    axes = [np.linspace(low[k], high[k], 60) for k in (0, 1)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    maps = {
        name: fitted.predict_confidence(grid, _KIND[name]).round(3).tolist() for name in CONFIDENCES
    }
    shown = np.random.default_rng(task.random_state).permutation(len(task.X))[:400]
    return {
        "axes": [axis.round(4).tolist() for axis in axes],
        **maps,
        "prediction": predicted_labels(fitted, grid).tolist(),
        "points": task.X[shown].round(3).tolist(),
        "points_class": task.y_true[shown].tolist(),
        "labeled": task.X[task.labeled].round(3).tolist(),
        "labeled_class": task.y[task.labeled].tolist(),
        **calibration(task, fitted),
    }


def _four_confidences(
    probs: NDArray[Any], head_probs: NDArray[Any], codes: NDArray[Any]
) -> dict[str, NDArray[Any]]:
    """Score the class that the head predicts; T-similarity alone is of all classes together."""
    of_the_class = head_probs.mean(axis=1)[np.arange(len(codes)), codes]
    four = (probs.max(axis=1), t_similarity(head_probs), t_share(head_probs, codes), of_the_class)
    return {name: confidence.clip(0, 1) for name, confidence in zip(FOUR, four, strict=True)}


def _confidences(task: Task, fitted: Any) -> Iterable[tuple[str, NDArray[Any], NDArray[np.bool_]]]:
    X, y = task.X[~task.labeled], task.y_true[~task.labeled]
    right = predicted_labels(fitted, X) == y
    return [(name, fitted.predict_confidence(X, _KIND[name]), right) for name in CONFIDENCES]
