"""A classifier that keeps the labels which a column of the table already guesses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chary._arrays import Array, Floats, Ints
from chary.method.confidence import CONFIDENCES_BY_NAME, purity
from chary.method.self_training import SelfTrainingClassifier

# A guess has this weight beside the classifier's probabilities. It is above a half, so that the
# guessed class is always the likeliest, and hardly above it, so that a guess which the classifier
# contradicts has little confidence.
_GUESS_WEIGHT = 0.51


class KeptGuessesClassifier(SelfTrainingClassifier):
    r"""A fitted classifier that gives each row the label that some of its features guess.

    The probabilities of a row are :math:`(1 - w) p + w e_g` with :math:`w = 0.51`: p are the
    probabilities of the classifier, and e_g is 1 for the guessed class g and 0 for all others. If
    the classifier gives the guessed class 0.9, the row has 0.49 * 0.9 + 0.51 = 0.95; if it gives
    the class 0.1, the row has 0.56. So the label is always the guess, and the confidence is high if
    the classifier says the same and low if it contradicts. A row without a guess gets the
    classifier's label. Such a classifier is made by ``keep_guesses``, not by ``fit``.

    Attributes
    ----------
    guess_column_ : str
        Name of the column that holds the guesses.
    guess_features_ : array of shape (G,)
        The numbers of its features.
    guess_patterns_ : array of shape (K, G)
        The distinct values of these features in rows that have a guess.
    guess_codes_ : array of shape (K,)
        The class that each pattern guesses, as a place in ``classes_``.
    """

    guess_column_: str
    guess_features_: Ints
    guess_patterns_: NDArray[np.float32]
    guess_codes_: Ints

    def predict(self, X: Any) -> Array:
        """Predict the label of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities (n, C)."""
        return self._with_guesses(super().predict_proba(X), X)

    def predict_scores(self, X: Any) -> tuple[Floats, Floats]:
        """Predict class probabilities (n, C) and confidence (n,)."""
        probs = self.predict_proba(X)
        # Members of an ensemble know nothing of the guess, so their agreement cannot be the
        # confidence in it.
        measure = CONFIDENCES_BY_NAME.get(str(self.confidence), purity)
        return probs, measure(probs)

    def guesses(self, X: Any) -> Ints:
        """Look up the class that each row guesses, (n,), as a place in ``classes_``; -1: none."""
        rows = np.asarray(X)[:, self.guess_features_]
        return match_patterns(rows, self.guess_patterns_, self.guess_codes_)

    def whole(self) -> bool:
        """Tell whether guesses read from a file fit together, and the classifier's features."""
        features = self.guess_features_
        patterns = self.guess_patterns_
        codes = self.guess_codes_
        has_dtypes = features.dtype.kind == codes.dtype.kind == "i" and patterns.dtype == np.float32
        has_shapes = (
            patterns.shape == (*codes.shape, *features.shape)
            and patterns.ndim == 2
            and patterns.size > 0
        )
        if not (isinstance(self.guess_column_, str) and has_dtypes and has_shapes):
            return False

        are_features = features.min() >= 0 and features.max() < self.n_features_in_
        are_classes = codes.min() >= 0 and codes.max() < len(self.classes_)
        return bool(are_features and are_classes)

    def _with_guesses(self, probs: Floats, X: Any) -> Floats:
        """Mix the guesses into the classifier's probabilities (n, C)."""
        codes = self.guesses(X)  # (n,); -1 for a row without a guess
        rows = np.flatnonzero(codes >= 0)
        probs = np.array(probs, dtype=np.float64)
        probs[rows] *= 1 - _GUESS_WEIGHT
        probs[rows, codes[rows]] += _GUESS_WEIGHT
        return probs


def keep_guesses(
    classifier: SelfTrainingClassifier,
    column: str,
    features: Ints,
    patterns: NDArray[np.float32],
    labels: Array,
) -> KeptGuessesClassifier:
    """Return a fitted classifier that keeps the labels a column guesses.

    Parameters
    ----------
    classifier : SelfTrainingClassifier
        Fitted; it is not changed.
    column : str
        The name of the column.
    features : array of shape (G,)
        The numbers of its features.
    patterns : array of shape (K, G)
        The distinct values of these features in rows that have a guess.
    labels : array of shape (K,)
        The label that each pattern guesses; one that the classifier does not know is no guess.
    """
    # The new classifier has the parameters of the old one, and all that it has learned.
    kept = KeptGuessesClassifier(**classifier.get_params(deep=False))
    for name, value in vars(classifier).items():
        setattr(kept, name, value)

    code_of = {str(name): code for code, name in enumerate(classifier.classes_.tolist())}
    codes = np.array([code_of.get(str(label), -1) for label in labels], dtype=np.intp)  # (K,)
    is_class = codes >= 0
    kept.guess_column_ = column
    kept.guess_features_ = features
    kept.guess_patterns_ = patterns[is_class]
    kept.guess_codes_ = codes[is_class]

    # The labels that self-training accepted are the classifier's own predictions. Guesses replace
    # these, so the rows count as never accepted.
    kept.labeled_iter_ = np.where(classifier.labeled_iter_ > 0, -1, classifier.labeled_iter_)
    return kept


def match_patterns(rows: Array, patterns: NDArray[np.float32], codes: Ints) -> Ints:
    """Look up the code of the pattern that each row equals.

    Parameters
    ----------
    rows : array of shape (n, G)
    patterns : array of shape (K, G)
    codes : array of shape (K,)
        The code of each pattern.

    Returns
    -------
    array of shape (n,)
        -1 for a row that equals no pattern.

    Examples
    --------
    >>> match_patterns(np.eye(3), np.eye(3, dtype=np.float32)[:2], np.array([5, 7]))
    array([ 5,  7, -1])
    """
    # The bytes of a pattern serve as the key to look it up by.
    keys = [pattern.tobytes() for pattern in patterns]
    code_of = dict(zip(keys, codes.tolist(), strict=True))
    # Many rows are alike, so each distinct row is looked up once.
    distinct_rows, place_of_row = np.unique(rows.astype(np.float32), axis=0, return_inverse=True)
    distinct_codes = [code_of.get(row.tobytes(), -1) for row in distinct_rows]
    return np.array(distinct_codes, dtype=np.intp)[place_of_row.ravel()]
