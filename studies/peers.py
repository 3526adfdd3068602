"""The study of peers: scikit-learn's self-training and label spreading on the paper's labels."""

from __future__ import annotations

from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from studies import findings
from studies.methods import SELF_TRAINING
from studies.study import ERM, SEEDS, Method, Study, Task


def scikit_learn_self_training(task: Task, base: str) -> SelfTrainingClassifier:
    """Self-train with scikit-learn's defaults: a threshold of 0.75, at most ten rounds."""
    estimator = task.estimator() if base == "network" else LogisticRegression(max_iter=1000)
    return SelfTrainingClassifier(estimator).fit(task.X, task.y)


def label_spreading(task: Task) -> LabelSpreading:
    """That of scikit-learn over the seven nearest neighbours."""
    return LabelSpreading(kernel="knn", n_neighbors=7, max_iter=100).fit(task.X, task.y)


def logistic_regression(task: Task) -> LogisticRegression:
    """On the labels given: what its self-training starts from."""
    return LogisticRegression(max_iter=1000).fit(task.X[task.labeled], task.y[task.labeled])


_PEERS = {
    "logistic": Method(logistic_regression, title="logistic regression"),
    "sklearn-logistic": Method(
        scikit_learn_self_training, {"base": "logistic"}, "scikit-learn ST, logistic"
    ),
    "sklearn-network": Method(
        scikit_learn_self_training, {"base": "network"}, "scikit-learn ST, network"
    ),
    "spreading": Method(label_spreading, title="label spreading"),
}
PEERS = Study(
    "peers",
    "Self-training and label spreading of scikit-learn beside the paper's methods",
    (
        "digits",
        "dna",
        "dry_bean",
        "mushrooms",
        "phishing",
        "protein",
        "rice",
        "splice",
        "svmguide1",
    ),
    methods=ERM | SELF_TRAINING | _PEERS,
    seeds=SEEDS[:3],
    headline=findings.means_of_methods,
)
