"""A classifier that keeps the labels which a column of the table already guesses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chary._arrays import Array, Floats, Ints
from chary.method.confidence import CONFIDENCES_BY_NAME, purity
from chary.method.self_training import SelfTrainingClassifier

# The weight of a guess beside the classifier's probabilities: so far above a half that the guessed
# class is always the likeliest, and so near to it that a guess which the classifier contradicts is
# hardly trusted.
_GUESS_WEIGHT = 0.51


class KeptGuessesClassifier(SelfTrainingClassifier):
    r"""A fitted classifier that gives each row the label that some of its features guess.

    With p the probabilities of the classifier and e_g those of the guess, 1 for the guessed class
    g, the probabilities of a row are :math:`(1 - w) p + w e_g`, :math:`w = 0.51`. So the label is
    always the guess, and the confidence is high where the classifier says the same and low where it
    contradicts. A row without a guess gets the classifier's label. It is made by ``keep_guesses``,
    not by ``fit``.

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
        """Tell whether guesses read from a file fit the features and classes."""
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
        has_features = features.min() >= 0 and features.max() < self.n_features_in_
        return bool(has_features and codes.min() >= 0 and codes.max() < len(self.classes_))

    def _with_guesses(self, probs: Floats, X: Any) -> Floats:
        """Mix the guesses into the classifier's probabilities (n, C)."""
        codes = self.guesses(X)
        guessed = np.flatnonzero(codes >= 0)
        probs = np.array(probs, dtype=np.float64)
        probs[guessed] *= 1 - _GUESS_WEIGHT
        probs[guessed, codes[guessed]] += _GUESS_WEIGHT
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
    kept = KeptGuessesClassifier(**classifier.get_params(deep=False))
    for name, value in vars(classifier).items():
        setattr(kept, name, value)
    place_of = {str(name): place for place, name in enumerate(classifier.classes_.tolist())}
    codes = np.array([place_of.get(str(label), -1) for label in labels], dtype=np.intp)
    kept.guess_column_ = column
    kept.guess_features_ = features
    kept.guess_patterns_ = patterns[codes >= 0]
    kept.guess_codes_ = codes[codes >= 0]

    # The labels that self-training accepted are the classifier's own predictions. Guesses replace
    # these, so the rows count as never accepted.
    kept.labeled_iter_ = np.where(classifier.labeled_iter_ > 0, -1, classifier.labeled_iter_)
    return kept


def match_patterns(rows: Array, patterns: NDArray[np.float32], codes: Ints) -> Ints:
    """Look up the code (n,) of the pattern (K, G) that each row (n, G) equals; -1: none.

    >>> match_patterns(np.eye(3), np.eye(3, dtype=np.float32)[:2], np.array([5, 7]))
    array([ 5,  7, -1])
    """
    keys = [pattern.tobytes() for pattern in patterns]
    code_of = dict(zip(keys, codes.tolist(), strict=True))
    distinct_rows, place = np.unique(rows.astype(np.float32), axis=0, return_inverse=True)
    distinct_codes = [code_of.get(row.tobytes(), -1) for row in distinct_rows]
    return np.array(distinct_codes, dtype=np.intp)[place.ravel()]
