"""A fitted classifier and many rows in; class probabilities and confidence out, as its own but quicker.

A linear model and the network are layers of sums; what brings columns to one scale is put into the weights of the
first, and rows go through all layers some hundreds at a time, so that what is made of them stays in the cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.information import ACCURACY
from chary.method.mixed import MixedEnsembleClassifier
from chary.method.network import Floats
from chary.method.scaling import ColumnScaler
from chary.method.self_training import SelfTrainingClassifier
from chary.method.threads import one_thread

# Rows that make a matrix, and numbers that the widest layer makes of several: half a mebibyte.
_COLUMNS, _NUMBERS = 128, 2**17
# Means so many times the scale cost as many digits if they are taken off after the product, not before.
_FAR = 1e3
# Single precision is off by about a hundredth of the fourth digit at most: rows nearer than this to where it is
# rounded up, or to another class, are scored in double precision, which shows how far it was off.
_DOUBT = 0.04


def predict_scores(classifier: Any, X: Floats, digits: int | None = None) -> tuple[Floats, Floats]:
    """Class probabilities (n, C) and confidence (n,), as of ``classifier.predict_scores``.

    They differ from those by rounding alone, about 1e-14.

    Parameters
    ----------
    classifier : fitted classifier
    X : array of shape (n, d)
        Prepared: numbers, all finite.
    digits : int, default=None
        Nobody needs more than the class of highest probability and so many decimal places of the confidence. Then
        rows are scored in single precision, and those again for which that might not suffice.
    """
    scorer = _scorer(classifier)
    if scorer is not None and len(X):
        with one_thread("blas"):  # matrices are small: two threads would wait for each other
            return scorer.scores(X) if digits is None else scorer.rounded(X, digits)
    if hasattr(classifier, "predict_scores"):
        return classifier.predict_scores(X)
    return classifier.predict_proba(X), classifier.predict_confidence(X)


def scores_quickly(classifier: Any) -> bool:
    """Whether rows cost a classifier about as much as reading and writing them."""
    return _scorer(classifier) is not None


class _Scorer(NamedTuple):
    """Layers, transposed: a feature is a row, and the rows of a table are columns."""

    layers: list[tuple[Floats, Floats]]  # (n_out, n_in), (n_out,); ReLU after all but the last
    n_heads: int  # beside the one that predicts; 0: the confidence is its largest probability
    n_classes: int

    def rounded(self, X: Floats, digits: int) -> tuple[Floats, Floats]:
        """Scores that are right as far as the class and so many digits of the confidence go."""
        unit = 10.0**-digits
        if len(self.layers) == 1:
            return self.scores(X)
        single = self._replace(layers=[(w.astype(np.float32), b.astype(np.float32)) for w, b in self.layers])
        probs, confidence = single.scores(X)
        place = confidence / unit
        near = np.abs(place - np.floor(place) - 0.5) < _DOUBT
        near |= _lead(probs) < _DOUBT * unit
        rows = np.flatnonzero(near)
        if len(rows):
            right_probs, right = self.scores(X[rows])
            error = max(np.abs(right - confidence[rows]).max(), np.abs(right_probs - probs[rows]).max())
            if error > _DOUBT * unit / 2:  # as it may be in others, too
                return self.scores(X)
            probs[rows], confidence[rows] = right_probs, right
        return probs, confidence

    def scores(self, X: Floats) -> tuple[Floats, Floats]:
        """Probabilities and confidence, in the precision of the layers."""
        n, probs, confidence = len(X), np.empty((self.n_classes, len(X))), np.empty(len(X))
        widest = max(X.shape[1], *(len(bias) for _, bias in self.layers))
        size = _COLUMNS * max(1, _NUMBERS // (widest * _COLUMNS))
        room = _Room.of(self.layers, min(n, size))
        for start in range(0, n, size):
            rows = slice(start, min(n, start + size))
            if rows.stop - start < size:
                room = _Room.of(self.layers, rows.stop - start)
            logits = self._logits(X[rows], room)  # ((1 + M) C, n)
            heads = _softmax(logits.reshape(1 + self.n_heads, self.n_classes, -1))
            probs[:, rows] = heads[0]
            confidence[rows] = _agreement(heads[1:]) if self.n_heads else heads[0].max(axis=0)
        return probs.T, confidence

    def _logits(self, X: Floats, room: _Room) -> Floats:
        """Of some rows, so many to a matrix; what is beyond the rows is cut off."""
        (n_rows, d), values = X.shape, room.inputs
        if n_rows < len(values) * _COLUMNS:
            X = np.concatenate([X, np.zeros((len(values) * _COLUMNS - n_rows, d), X.dtype)])
        values[:, :d] = X.reshape(len(values), _COLUMNS, d).transpose(0, 2, 1)
        for k, (weight, bias) in enumerate(self.layers):
            values = np.matmul(weight, values, out=room.between[k])
            if k:
                values += bias[:, None]
            if k < len(self.layers) - 1:
                np.maximum(values, room.zeros[:, : len(bias)], out=values)  # twice as quick as with one zero
        return np.concatenate(values, axis=1, out=room.logits)[:, :n_rows]


class _Room(NamedTuple):
    """Where rows are on their way, so many to a matrix: small products are the quicker ones."""

    inputs: Floats  # (b, d + 1, columns), ones for the bias at the end
    between: list[Floats]  # (b, n_out, columns) of each layer
    zeros: Floats
    logits: Floats  # (n_out, n) of the last layer

    @classmethod
    def of(cls, layers: list[tuple[Floats, Floats]], n_rows: int) -> _Room:
        n_matrices, dtype = -(-n_rows // _COLUMNS), layers[0][0].dtype
        between = [np.empty((n_matrices, len(bias), _COLUMNS), dtype) for _, bias in layers]
        widest = max(len(bias) for _, bias in layers)
        inputs = np.ones((n_matrices, layers[0][0].shape[1], _COLUMNS), dtype)
        zeros = np.zeros((n_matrices, widest, _COLUMNS), dtype)
        return cls(inputs, between, zeros, np.empty((len(layers[-1][1]), n_matrices * _COLUMNS), dtype))


def _lead(probs: Floats) -> Floats:
    """By how much the likeliest class is ahead of the next."""
    first, second = np.maximum(probs[:, 0], probs[:, 1]), np.minimum(probs[:, 0], probs[:, 1])
    for code in range(2, probs.shape[1]):
        second = np.maximum(second, np.minimum(first, probs[:, code]))
        first = np.maximum(first, probs[:, code])
    return first - second


def _softmax(logits: Floats) -> Floats:
    """Over classes (heads, C, n), in place."""
    if logits.shape[1] == 2:
        first, second = logits[:, 0], logits[:, 1]
        np.subtract(first, second, out=second)
        with np.errstate(over="ignore"):  # infinity: a probability of 0
            np.exp(second, out=second)
        second += 1
        np.reciprocal(second, out=second)
        np.subtract(1, second, out=first)
        return logits
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits


def _agreement(heads: Floats) -> Floats:
    """T-similarity (n,) of probabilities (M, C, n), which it changes."""
    total = heads.sum(axis=0)  # (C, n)
    total *= total
    heads *= heads
    total -= heads.sum(axis=0)
    total /= len(heads) * (len(heads) - 1)
    return total.clip(0, 1).sum(axis=0).clip(0, 1)


def _scorer(classifier: Any) -> _Scorer | None:
    """The layers of a classifier that is made of such; None: it has to be asked itself."""
    if type(classifier) is not SelfTrainingClassifier:
        return None
    inner = classifier.estimator_
    asked = classifier.confidence
    if type(inner) is DiverseEnsembleClassifier and asked in ("t_similarity", "max_probability"):
        found = _of_network(inner, inner.n_heads if asked == "t_similarity" else 0)
    elif type(inner) is MixedEnsembleClassifier and asked == "max_probability":
        found = _of_linear(inner)
    else:
        return None
    offset = inner.class_bias_ + (
        0 if classifier.class_prior_ is None and classifier.aim == ACCURACY else classifier.class_bias_
    )
    if found is None or not np.isfinite(offset).all():
        return None
    *before, (weight, bias) = found.layers
    bias = bias + np.tile(offset, 1 + found.n_heads)
    layers = [*before, (weight, bias)]
    first, first_bias = layers[0]
    layers[0] = np.column_stack([first, first_bias]), first_bias
    return found._replace(layers=layers)


def _of_network(classifier: DiverseEnsembleClassifier, n_heads: int) -> _Scorer | None:
    network, n_classes = classifier.network_.astype(np.float64), len(classifier.classes_)
    layers = [(layer.weight.T, layer.bias) for layer in network.layers(network.params)]
    weight, bias = layers[-1]
    n_out = (1 + n_heads) * n_classes
    layers[-1] = weight[:n_out], bias[:n_out]
    folded = _folded(layers[0], classifier.mean_, classifier.scale_)
    return None if folded is None else _Scorer([folded, *layers[1:]], n_heads, n_classes)


def _of_linear(classifier: MixedEnsembleClassifier) -> _Scorer | None:
    """An ensemble of one linear model."""
    members = [member.estimator for member in classifier.members_]
    if len(members) != 1 or type(members[0]) is not Pipeline:
        return None
    steps = [step for _, step in members[0].steps]
    if [type(step) for step in steps] != [ColumnScaler, LogisticRegression]:
        return None
    scaler, linear = steps
    weight, bias = linear.coef_, linear.intercept_
    if len(weight) == 1:
        weight, bias = np.vstack([-weight / 2, weight / 2]), np.append(-bias / 2, bias / 2)
    loud = float(classifier.scales_[0]) > 0  # one without any opinion stays silent
    folded = _folded((weight * loud, bias * loud), scaler.mean_, scaler.scale_)
    return None if folded is None else _Scorer([folded], 0, len(classifier.classes_))


def _folded(layer: tuple[Floats, Floats], mean: Floats, scale: Floats) -> tuple[Floats, Floats] | None:
    """A layer that takes columns as they are: W (x - m) / s + b = (W / s) x + b - W (m / s)."""
    weight, bias = layer
    if not (np.abs(mean) <= _FAR * scale).all():
        return None
    return weight / scale, bias - weight @ (mean / scale)
