"""Numbers on one scale; zeros and ones as they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.preprocessing import StandardScaler

from chary.method.mixture import ColumnScaler

NUMBERS = arrays(
    float, st.tuples(st.integers(2, 30), st.integers(1, 4)), elements=st.integers(-1000, 1000)
)


@given(NUMBERS)
def test_a_column_that_holds_other_numbers_is_standardised(X):
    X = np.vstack([X, np.full(X.shape[1], 7.0)])  # none is a column of zeros and ones
    np.testing.assert_allclose(
        ColumnScaler().fit_transform(X), StandardScaler().fit_transform(X), atol=1e-9
    )


def test_a_column_of_zeros_and_ones_stays():
    X = np.array([[0.0, 5, 1], [1, 6, 1], [0, 9, 1]])
    scaled = ColumnScaler().fit_transform(X)
    np.testing.assert_array_equal(scaled[:, [0, 2]], X[:, [0, 2]])
    assert scaled[:, 1].mean() == pytest.approx(0)
    assert scaled[:, 1].std() == pytest.approx(1)


def test_what_was_learned_is_used_for_new_rows():
    scaler = ColumnScaler().fit([[0.0, 10], [1, 20]])
    np.testing.assert_allclose(scaler.transform([[3.0, 15]]), [[3, 0]])
    assert scaler.get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]


def test_a_constant_column_is_centred():
    np.testing.assert_array_equal(
        ColumnScaler().fit_transform([[0.1 * 3], [0.1 * 3], [0.1 * 3]]), np.zeros((3, 1))
    )
