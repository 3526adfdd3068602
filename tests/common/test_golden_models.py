"""Model files written long ago load and predict what they predicted then."""

import json
from pathlib import Path

import numpy as np
import pytest

from chary.labelling.drift import compare_with_reference, count_events
from chary.model_file import load_model
from chary.tables import read_table

GOLDEN = Path(__file__).parents[1] / "fixtures" / "golden"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
TABLE = read_table(GOLDEN / "rows.csv").frame
IRIS = np.loadtxt(GOLDEN / "rows-iris.csv", delimiter=",")


def test_there_is_a_file_for_every_expectation():
    assert sorted(path.name for path in GOLDEN.glob("*.chary")) == sorted(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_golden_models_predict_what_they_did(name):
    expected = dict(EXPECTED[name])
    model = load_model(GOLDEN / name)
    rows = TABLE if name.startswith("label-") else IRIS
    assert model.predict(rows).tolist() == expected.pop("predict")
    if "features" in expected:
        assert model[0].get_feature_names_out().tolist() == expected.pop("features")
    if "compare" in expected:
        seen = count_events(model, *model[0].transform_counted(rows))
        found = compare_with_reference(model, seen).figures()
        assert {name: found[name] for name in found if name != "sentence"} == expected.pop(
            "compare"
        )
    confident = model[-1] if name.startswith("label-") else model
    features = model[0].transform(rows) if name.startswith("label-") else rows
    for method, numbers in expected.items():
        # One processor's matrix product may differ from another's in the last bit.
        np.testing.assert_allclose(
            getattr(confident, method)(features), numbers, rtol=0, atol=1e-13
        )
