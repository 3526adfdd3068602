"""TorchDiverseClassifier: a scikit-learn classifier around any backbone, and the examples that use it."""

import json
import os
import runpy
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from chary import (
    Curriculum,
    DiverseEnsembleClassifier,
    FixedThreshold,
    LabeledStratifiedKFold,
    RisingShare,
    SelfTrainingClassifier,
    TransductiveBound,
)
from chary.method.labels import encode
from chary.torch import TorchDiverseClassifier, t_similarity

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "2_going_further"


def small_backbone():
    return nn.Sequential(nn.LazyLinear(16), nn.ReLU())


def cnn():
    return nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 16), nn.ReLU())


def table(n=120, n_labeled=30, seed=0):
    X, y_true = make_classification(n, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, random_state=seed)
    y = y_true.copy()
    y[n_labeled:] = -1
    return X, y, y_true


def quick(backbone=small_backbone, **params):
    return TorchDiverseClassifier(backbone, **{"n_steps": 30, "random_state": 0, "device": "cpu", **params})


class SmallBackbone:
    """Makes a backbone, and shows no address, so that every test process collects the same tests."""

    def __call__(self):
        return small_backbone()

    def __repr__(self):
        return "small_backbone"


@parametrize_with_checks(
    [quick(SmallBackbone(), dtype="float64", learning_rate=0.05, n_steps=40, unlabeled=None)],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "a mini-batch draws a row of weight 2 once, not twice"
    },
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_learns_digits_and_knows_where_it_is_wrong():
    X, y_true = load_digits(return_X_y=True)
    X, y = (X / 16).reshape(-1, 1, 8, 8), y_true.copy()
    y[150:] = -1
    model = quick(cnn, n_steps=100, learning_rate=6e-3).fit(X, y)
    right = model.predict(X[150:]) == y_true[150:]
    confidence = model.predict_confidence(X[150:])
    assert right.mean() > 0.75
    assert right[confidence > np.median(confidence)].mean() > right.mean() + 0.05


def test_predictions_belong_together():
    X, y, _ = table()
    model = quick().fit(X, y)
    probs, head_probs = model.predict_joint_proba(X)
    assert probs.shape == (120, 3)
    assert head_probs.shape == (120, 5, 3)
    np.testing.assert_allclose(head_probs.sum(axis=-1), 1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[probs.argmax(axis=1)])
    np.testing.assert_array_equal(model.predict_confidence(X), t_similarity(head_probs))
    np.testing.assert_array_equal(model.predict_confidence(X, "max_probability"), probs.max(axis=1))


def test_global_state_is_left_alone():
    def state():
        rng = np.random.get_state()  # noqa: NPY002
        return (
            torch.get_rng_state().tolist(),
            torch.get_default_dtype(),
            torch.get_num_threads(),
            torch.is_grad_enabled(),
            torch.are_deterministic_algorithms_enabled(),
            [rng[0], rng[1].tolist(), *rng[2:]],
            dict(os.environ),
            os.getcwd(),
        )

    X, y, _ = table()
    dropout = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5))
    before = state()
    quick(dropout, dtype="float64").fit(X, y).predict(X)
    assert state() == before


def test_a_module_keeps_its_weights_and_is_itself_left_alone():
    X, y, _ = table()
    backbone = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
    given = {name: value.clone() for name, value in backbone.state_dict().items()}
    # A learning rate too small to move a float32 weight: what is fitted is what was given.
    model = quick(backbone, learning_rate=1e-30).fit(X, y)
    for name, value in backbone.state_dict().items():
        assert torch.equal(value, given[name])
        assert torch.equal(model.network_.backbone.state_dict()[name], given[name])
    assert model.network_.backbone is not backbone
    assert backbone.training


def test_a_callable_draws_fresh_weights_by_the_random_state():
    X, y, _ = table()
    weights = [
        quick(small_backbone, learning_rate=1e-30, random_state=seed).fit(X, y).network_.backbone[0].weight
        for seed in (0, 0, 1)
    ]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_without_a_backbone_it_is_the_network_of_the_paper():
    X, y, _ = table()
    layers = [module for module in quick(None).fit(X, y).network_.modules() if isinstance(module, nn.Linear)]
    network = DiverseEnsembleClassifier(n_steps=1).fit(X, y).network_
    assert [layer.weight.T.shape for layer in layers] == [
        layer.weight.shape for layer in network.layers(network.params)
    ]


def test_the_backbone_must_give_vectors():
    X, y, _ = table()
    X = X.reshape(-1, 1, 2, 3)
    with pytest.raises(ValueError, match=r"\(2, 1, 2, 3\) into \(2, 4, 1, 2\).*nn.Flatten"):
        quick(nn.Conv2d(1, 4, 2)).fit(X, y)


class Sentences(Dataset):
    """Token numbers and a label, as a Dataset gives them: class 1 holds the token 7."""

    def __len__(self):
        return 60

    def __getitem__(self, row):
        tokens = np.random.default_rng(row).integers(6, size=5)
        label = row % 2
        tokens[row % 5] = 7 if label else tokens[row % 5]
        return torch.as_tensor(tokens), label if row < 40 else -1


class Words(Sentences):
    def __getitem__(self, row):
        tokens, label = super().__getitem__(row)
        return tokens, {0: "no", 1: "yes", -1: None}[label]


def test_a_dataset_may_hold_labels_as_text():
    model = quick(bag_of_tokens, learning_rate=0.2, n_steps=40).fit(Words())
    assert model.classes_.tolist() == ["no", "yes"]
    assert (model.predict(Words()) == np.array(["no", "yes"])[np.arange(60) % 2]).mean() > 0.9


def bag_of_tokens():
    return nn.EmbeddingBag(8, 4)


def test_tokens_from_a_dataset_or_a_tensor():
    data = Sentences()
    model = quick(bag_of_tokens, learning_rate=0.2, n_steps=40).fit(data)
    tokens = torch.stack([data[row][0] for row in range(60)])
    y = [data[row][1] for row in range(60)]
    same = quick(bag_of_tokens, learning_rate=0.2, n_steps=40).fit(tokens, y)
    truth = np.arange(60) % 2
    assert (model.predict(data) == truth).mean() > 0.9
    np.testing.assert_array_equal(model.predict_proba(data), same.predict_proba(tokens))
    rows_only = TensorDataset(tokens)
    np.testing.assert_array_equal(model.predict_proba(rows_only), same.predict_proba(tokens))


def test_data_frames_and_text_labels():
    X, y, _ = table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    names = np.array(["blue", "green", "red", None], dtype=object)[y]
    model = quick().fit(frame, names)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert set(model.predict(frame)) <= {"blue", "green", "red"}
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("bacdef")])


@pytest.mark.parametrize("weights", [None, np.where(np.arange(120) % 7, 1.0, 0.0)])
def test_encoded_labels_fit_the_same_model(weights, monkeypatch):
    X, y, _ = table()
    labels = encode(y)
    expected = quick().fit(X, y, weights)
    monkeypatch.setattr("chary.method.labels._encoded", lambda y, unlabeled: pytest.fail("encoded again"))
    model = quick().fit(X, labels, weights)
    np.testing.assert_array_equal(model.predict_head_proba(X), expected.predict_head_proba(X))
    SelfTrainingClassifier(quick(), max_rounds=1).fit(X, labels)


def test_order_of_rows_does_not_matter():
    X, y, _ = table()
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = quick().fit(X[order], y[order])
    np.testing.assert_array_equal(shuffled.predict_proba(X), quick().fit(X, y).predict_proba(X))


def test_names_of_classes_do_not_matter():
    X, y, _ = table()
    renamed = np.array(["z", "m", "a", None], dtype=object)[y]  # the order is turned round
    probs = quick().fit(X, y).predict_head_proba(X)
    np.testing.assert_allclose(quick().fit(X, renamed).predict_head_proba(X)[:, :, ::-1], probs, atol=1e-15)


def test_rows_of_weight_zero_are_as_if_absent():
    X, y, _ = table()
    weights = np.ones(len(X))
    weights[[3, 50]] = 0  # one labelled, one not
    absent = weights > 0
    weighted = quick().fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(weighted.predict_proba(X), quick().fit(X[absent], y[absent]).predict_proba(X))


def test_weights_pull_towards_their_rows():
    X, y, _ = table()
    X = np.vstack([X, X[:30]])
    y = np.concatenate([y, (y[:30] + 1) % 3])  # every labelled row also bears a wrong label
    heavy = np.concatenate([np.full(120, 10.0), np.ones(30)])
    predicted = quick(n_steps=100, learning_rate=0.04).fit(X, y, sample_weight=heavy).predict(X[:30])
    assert (predicted == y[:30]).mean() > 0.9


@pytest.mark.parametrize(
    ("y", "message"), [([-1] * 120, "no labelled row"), ([1] * 60 + [-1] * 60, "one class only")]
)
def test_too_few_labels(y, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(table()[0], y)


class Endless(IterableDataset):
    def __iter__(self):
        return iter(())


def test_y_is_needed_beside_an_array():
    with pytest.raises(ValueError, match="requires y to be passed"):
        quick().fit(table()[0])


def test_joint_training_moves_the_backbone():
    X, y, _ = table()
    apart, alone, joint = (
        quick(dtype="float64", **params).fit(X, y).network_.backbone[0].weight
        for params in ({"gamma": 0.0}, {"gamma": 50.0}, {"gamma": 50.0, "joint": True})
    )
    torch.testing.assert_close(apart, alone, rtol=0, atol=1e-12)  # diversity is no business of the backbone
    assert not torch.allclose(apart, joint, atol=1e-3)


def test_mixed_precision_stays_close():
    code = "import torch; a = torch.ones(64, 64, dtype=torch.bfloat16); (a @ a).sum().item()"
    if subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode < 0:
        pytest.skip("PyTorch dies of an illegal instruction in bfloat16 here")
    X, y, _ = table()
    full, mixed = (quick(dtype=dtype).fit(X, y) for dtype in ("float32", "bfloat16"))
    assert mixed.network_.backbone[0].weight.dtype == torch.float32
    assert 0 < np.abs(full.predict_proba(X) - mixed.predict_proba(X)).max() < 0.03


def test_early_stopping_ends_where_labels_held_out_get_worse():
    """Labels without any meaning: whatever is learned of them makes those held out worse."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 20)), rng.integers(0, 2, 200)
    y[100:] = -1
    params = {"n_steps": 400, "learning_rate": 0.01, "random_state": 0, "device": "cpu"}
    model = TorchDiverseClassifier(None, early_stopping=True, **params).fit(X, y)
    assert len(model.loss_curve_["supervised"]) < 400
    with pytest.raises(ValueError, match="no class has ten"):
        TorchDiverseClassifier(None, early_stopping=True, **params).fit(X[90:], y[90:])


def test_divergence_is_an_error():
    X, y, _ = table()
    with pytest.raises(ValueError, match=r"The loss is not finite.*lower learning_rate"):
        quick(learning_rate=1e30).fit(X, y)


def test_pipeline_and_grid_search():
    X, y, _ = table()
    pipeline = make_pipeline(StandardScaler(), quick(n_steps=5))
    grid = {"torchdiverseclassifier__gamma": [0.0, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=LabeledStratifiedKFold(2)).fit(X, y)
    assert search.predict(X).shape == (120,)


@pytest.mark.parametrize(
    "policy", [FixedThreshold(0.3), TransductiveBound(), RisingShare()], ids=lambda policy: type(policy).__name__
)
def test_self_training(policy):
    X, y, _ = table()
    X = X.reshape(-1, 1, 2, 3)
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(6, 8), nn.ReLU())
    base = quick(backbone, n_steps=10)
    model = SelfTrainingClassifier(base, policy=policy, max_rounds=2).fit(X, y)
    assert model.history_
    assert model.history_[0]["n_accepted"] > 0
    np.testing.assert_array_equal(model.transduction_[:30], y[:30])
    assert isinstance(model.estimator_, TorchDiverseClassifier)


def test_training_can_start_from_the_weights_of_another():
    X, y, y_true = table()
    first = quick().fit(X, y)
    before = {name: value.clone() for name, value in first.network_.state_dict().items()}
    for names in ([0, 1, 2], [9, 7, 5], [1, 2, 0]):  # whatever order of classes their first rows give
        names = np.array(names)
        named = quick().fit(X, np.where(y < 0, -1, names[y]))
        more = np.where(np.arange(120) < 90, names[y_true[::-1]][::-1], -1)
        still = quick(learning_rate=1e-12, n_steps=1).fit(X, more, start_from=named)
        np.testing.assert_allclose(still.predict_head_proba(X), named.predict_head_proba(X), atol=1e-6)
        np.testing.assert_allclose(still.predict_proba(X), named.predict_proba(X), atol=1e-6)
    quick().fit(X, y, start_from=first)
    assert all(torch.equal(value, before[name]) for name, value in first.network_.state_dict().items())


def test_weights_that_do_not_fit_are_refused():
    X, y, _ = table()
    first = quick().fit(X, y)
    with pytest.raises(ValueError, match="same backbone, classes and n_heads; it is TorchDiverseClassifier"):
        quick().fit(X, np.where(y == 2, -1, y), start_from=first)
    with pytest.raises(ValueError, match=r"same backbone, classes and n_heads; .*size mismatch for heads"):
        quick(n_heads=3).fit(X, y, start_from=first)
    for other in (DiverseEnsembleClassifier(n_steps=1).fit(X, y), quick()):
        with pytest.raises(ValueError, match=rf"start_from must be .*; it is {type(other).__name__}"):
            quick().fit(X, y, start_from=other)


pack = runpy.run_path(str(Path(__file__).parents[1] / "common" / "semi_supervised_checks.py"))


# What could differ with another network inside: the order of rows and the names of classes.
CHECKS = [check for check in pack["CHECKS"] if check.__name__.startswith(("check_05", "check_06", "check_07"))]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("warm_start", [False, True], ids=["fresh", "warm"])
def test_semi_supervised_checks(check, warm_start):
    class Accept:
        rescore = False

        def __init__(self, everything):
            self.everything = everything

        def accept(self, round):
            return np.full(len(round.confidence), self.everything), {}

    def make(base, *, accept="policy", **params):
        policy = {"policy": Curriculum(0.4), "nothing": Accept(False), "all": Accept(True)}[accept]
        is_torch = isinstance(base, TorchDiverseClassifier)
        params = {
            "confidence": "t_similarity" if is_torch else "softmax",
            "warm_start": warm_start and is_torch,
        } | params
        return SelfTrainingClassifier(base, policy=policy, **params)

    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
    check(pack["Subject"]("torch", make, lambda: quick(backbone, n_steps=8, learning_rate=0.03)))


@pytest.mark.parametrize(
    ("labels", "backbone"), [(["blue", "green", "red"], small_backbone), ([-1, 4, 7], None)], ids=["lazy", "paper"]
)
def test_saved_state_predicts_to_the_bit(tmp_path, labels, backbone):
    X, y, _ = table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    y = np.array([*labels, None], dtype=object)[y]
    model = quick(backbone, unlabeled=None).fit(frame, y)
    model.save_state(tmp_path / "state.safetensors")
    loaded = quick(backbone, unlabeled=None).load_state(tmp_path / "state.safetensors")
    np.testing.assert_array_equal(loaded.predict_head_proba(frame), model.predict_head_proba(frame))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist()


def test_saved_state_of_tensors_in_double_precision(tmp_path):
    X, y, _ = table()
    model = quick(None, dtype="float64").fit(torch.as_tensor(X), y)
    model.save_state(tmp_path / "state")
    loaded = quick(None, dtype="float64").load_state(tmp_path / "state")
    np.testing.assert_array_equal(
        loaded.predict_proba(torch.as_tensor(X)), model.predict_proba(torch.as_tensor(X))
    )


def test_tied_weights_are_saved(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
            self.second.weight = self.first.weight

        def forward(self, X):
            return self.second(self.first(X).relu())

    X, y, _ = table()
    model = quick(Tied).fit(X, y)
    model.save_state(tmp_path / "state")
    np.testing.assert_array_equal(quick(Tied).load_state(tmp_path / "state").predict(X), model.predict(X))


def test_a_state_that_does_not_fit_is_one_sentence(tmp_path):
    X, y, _ = table()
    path = tmp_path / "state.safetensors"
    quick(nn.Linear(6, 4)).fit(X, y).save_state(path)
    content = path.read_bytes()
    facts = {"classes": [0, 1], "dtype": "<i8"}
    cases = {
        "fewer heads": (quick(nn.Linear(6, 4), n_heads=3), content),
        "another backbone": (quick(nn.Linear(6, 5)), content),
        "cut short": (quick(nn.Linear(6, 4)), content[:-5]),
        "empty": (quick(nn.Linear(6, 4)), b""),
        "noise": (quick(nn.Linear(6, 4)), bytes(range(256)) * 4),
    }
    for model, damaged in cases.values():
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="holds no state of a TorchDiverseClassifier") as caught:
            model.load_state(path)
        assert "\n" not in str(caught.value)
        assert not hasattr(model, "classes_")
    for metadata in (None, {"chary": "{"}, {"chary": "[]"}, {"chary": json.dumps(facts)}):
        save_file({"weight": torch.zeros(2)}, path, metadata=metadata)
        with pytest.raises(ValueError, match="holds no state"):
            quick().load_state(path)
    with pytest.raises(ValueError, match="holds no state"):
        quick().load_state(tmp_path / "missing")


def test_without_torch_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [name for name in sys.modules if name.startswith("chary.torch")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("chary.torch", "chary.torch.fixmatch"):
        with pytest.raises(ModuleNotFoundError, match=r"chary.torch needs PyTorch.*pip install 'chary\[torch\]'"):
            import_module(name)


def test_own_backbone_takes_at_most_ten_lines(tmp_path, capsys):
    script = EXAMPLES / "own_backbone.py"
    lines = script.read_text().splitlines()
    plain = [line for line in lines if not line.endswith("# chary")]
    assert 0 < len(lines) - len(plain) <= 10
    (tmp_path / "plain.py").write_text("\n".join(plain).replace("range(300)", "range(3)"))
    assert "chary" not in "\n".join(plain[8:])

    printed = []
    for path in (tmp_path / "plain.py", script):
        with torch.random.fork_rng(devices=[]):
            runpy.run_path(str(path))
        printed.append(capsys.readouterr().out.splitlines())
    without, with_heads = printed
    assert len(without) == 1  # without the added lines it is a training script that runs
    right, right_of_trusted = (float(line.split("%")[0].split()[-1]) for line in with_heads)
    assert right_of_trusted > right + 3
