"""An object of a class that a model file may hold in; plain values out, and back, checked.

Objects come back by way of ``CODECS`` alone. A class of scikit-learn is kept as the parameters that differ from
its defaults and the listed attributes, so that the file depends on no version of it; its trees, as plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass
from inspect import signature
from itertools import pairwise
from math import isfinite, prod
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from chary import __version__
from chary.jobs.sketch import Sketch, is_sketch_of
from chary.method import (
    AIMS,
    POLICIES,
    ColumnScaler,
    DiverseEnsembleClassifier,
    Member,
    MixedEnsembleClassifier,
    Network,
    PlainBoosting,
    PlainForest,
    SelfTrainingClassifier,
    Trees,
)
from chary.tables import Column, TablePreparation, preparation_state, restore_preparation

# Parameters that may be infinite or missing: a penalty that is none, a mark of unlabelled rows.
_FREE_PARAMS = {"C", "unlabeled"}


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that is not a model of chary."""


class Codec(NamedTuple):
    """How objects of a class become a dictionary of plain values and arrays, and come back."""

    cls: type
    state: Callable[[Any], dict[str, Any]]
    restore: Callable[[dict[str, Any]], Any]


def require(condition: bool) -> None:
    """Refuse a file that holds something else than what ``save`` writes."""
    if not condition:
        raise ModelFileError("The model file contradicts itself; copy or train it again.")


def require_finite(value: Any) -> None:
    """Refuse a number, or numbers anywhere in arrays, lists and dictionaries, that are infinite or missing."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            require_finite(item)
    elif not (
        isfinite(value)
        if isinstance(value, float)
        else not isinstance(value, np.ndarray) or value.dtype.kind != "f" or np.isfinite(value).all()
    ):
        raise ModelFileError("The model file holds an infinite or missing number; copy or train it again.")


def made(cls: type, params: dict[str, Any]) -> Any:
    """An unfitted object of the class; one sentence if its parameters are not those of the installed version."""
    for name in params.keys() - signature(cls).parameters.keys():
        foreign = cls.__module__.startswith("sklearn.")
        installed = f"scikit-learn {sklearn.__version__}" if foreign else f"chary {__version__}"
        raise ModelFileError(
            f"The model file holds a {cls.__name__} with the parameter {name[:50]!r}, which {installed} does not "
            "know; install the version that it was made with, or train the model again."
        )
    require_finite([value for name, value in params.items() if name not in _FREE_PARAMS])
    return cls(**params)


# ---------------------------------------------------------------- estimators, by their parameters and attributes


def _own(cls: type, check: Callable[[Any], bool], *, records: Collection[str] = ()) -> Codec:
    """An estimator of chary: its parameters, and every attribute that ``fit`` set.

    All of them are finite but those named ``records``, which ``check`` looks at, or which predict nothing.
    """

    def state(model: Any) -> dict[str, Any]:
        learned = {name: value for name, value in vars(model).items() if _is_fitted_name(name)}
        return {"params": _without_generators(model.get_params(deep=False)), "fitted": learned}

    return Codec(cls, state, lambda saved: _restored(cls, check, saved, records))


def _foreign(cls: type, check: Callable[[Any], bool], *attributes: str) -> Codec:
    """An estimator of scikit-learn: parameters that are not its defaults, and the attributes it predicts with."""
    names = ("n_features_in_", "feature_names_in_", *attributes)

    def state(model: Any) -> dict[str, Any]:
        learned = {name: vars(model)[name] for name in names if name in vars(model)}
        return {"params": _changed(cls, _without_generators(model.get_params(deep=False))), "fitted": learned}

    return Codec(cls, state, lambda saved: _restored(cls, check, saved))


def _restored(
    cls: type, check: Callable[[Any], bool], saved: dict[str, Any], records: Collection[str] = ()
) -> Any:
    model, learned = made(cls, saved["params"]), saved["fitted"]
    for name, value in learned.items():
        require(_is_fitted_name(name))
        setattr(model, name, value)
    require(not learned or check(model))  # a meta-estimator holds an unfitted one, too
    require_finite([value for name, value in learned.items() if name not in records])
    return model


def _is_fitted_name(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_") and name.isidentifier() and name.islower()


def _changed(cls: type, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are not the defaults of the class."""
    defaults = {name: parameter.default for name, parameter in signature(cls).parameters.items()}
    return {name: value for name, value in params.items() if not _same(value, defaults[name])}


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def _without_generators(params: dict[str, Any]) -> dict[str, Any]:
    generator = isinstance(params.get("random_state"), np.random.Generator | np.random.RandomState)
    return {**params, "random_state": None} if generator else params


def _is_floats(array: Any, *shape: int) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.shape == shape


def _is_offset(bias: NDArray[Any], n_classes: int) -> bool:
    """Minus infinity is the offset of a class that a prior gives no share."""
    return bool(_is_floats(bias, n_classes) and (bias < np.inf).all() and np.isfinite(bias).any())


def _network_fits(model: DiverseEnsembleClassifier) -> bool:
    network, n_features = model.network_, model.n_features_in_
    return (
        model.aim in AIMS
        and type(network) is Network
        and network.n_features == n_features
        and model.classes_.shape == (network.n_classes,)
        and _is_floats(model.mean_, n_features)
        and _is_floats(model.scale_, n_features)
        and bool((model.scale_ > 0).all())
        and _is_offset(model.class_bias_, network.n_classes)
    )


def _mixture_fits(model: MixedEnsembleClassifier) -> bool:
    n_members, n_classes = len(model.members_), len(model.classes_)
    return (
        model.aim in AIMS
        and all(type(member) is Member for member in model.members_)
        and all(member.estimator.n_features_in_ == model.n_features_in_ for member in model.members_)
        and all(len(member.estimator.classes_) == n_classes for member in model.members_)
        and model.classes_.ndim == 1
        and _is_floats(model.scales_, n_members)
        and _is_floats(model.weights_, n_members)
        and bool((model.scales_ >= 0).all() and (model.weights_ >= 0).all())
        and _is_offset(model.class_bias_, n_classes)
    )


def _rounds_fit(model: SelfTrainingClassifier) -> bool:
    return (
        model.aim in AIMS
        and np.array_equal(model.classes_, model.estimator_.classes_)
        and model.labeled_iter_.shape == model.confidence_.shape == model.transduction_.shape
        and _is_offset(model.class_bias_, len(model.classes_))
    )


def _timeless(codec: Codec) -> Codec:
    """How long the rounds took is not kept, so that the same run writes the same file."""

    def state(model: SelfTrainingClassifier) -> dict[str, Any]:
        saved = codec.state(model)
        if "history_" in saved["fitted"]:
            rounds = [{k: v for k, v in record.items() if k != "seconds"} for record in model.history_]
            saved["fitted"]["history_"] = rounds
        return saved

    return codec._replace(state=state)


def _scaler_fits(model: StandardScaler) -> bool:
    n = model.n_features_in_
    centred = not model.with_mean or _is_floats(model.mean_, n)
    return centred and (not model.with_std or bool(_is_floats(model.scale_, n) and (model.scale_ > 0).all()))


def _columns_fit(model: ColumnScaler) -> bool:
    return bool(model.scale_.shape == model.mean_.shape == (model.n_features_in_,) and (model.scale_ > 0).all())


def _quantiles_fit(model: QuantileTransformer) -> bool:
    shares, quantiles = model.references_, model.quantiles_
    return bool(
        len(shares)
        and _is_floats(shares, len(shares))
        and _is_floats(quantiles, len(shares), model.n_features_in_)
        and ((shares >= 0) & (shares <= 1)).all()
        and (np.diff(shares) >= 0).all()
        and (np.diff(quantiles, axis=0) >= 0).all()
    )


def _regression_fits(model: LogisticRegression) -> bool:
    n_rows = len(model.classes_) if len(model.classes_) > 2 else 1
    return (
        model.classes_.ndim == 1
        and _is_floats(model.coef_, n_rows, model.n_features_in_)
        and _is_floats(model.intercept_, n_rows)
    )


def _unfitted(model: Any) -> bool:
    """Fitted ones are kept as plain trees."""
    return False


# ---------------------------------------------------------------- the others


def _dataclass(cls: type) -> Codec:
    def state(value: Any) -> dict[str, Any]:
        return {field.name: getattr(value, field.name) for field in fields(value)}

    assert is_dataclass(cls)
    return Codec(cls, state, lambda saved: cls(**saved))


def _network_state(network: Network) -> dict[str, Any]:
    sizes = {name: getattr(network, name) for name in ("n_features", "hidden_sizes", "n_classes", "n_heads")}
    return {**sizes, "params": network.params}


def _restore_network(saved: dict[str, Any]) -> Network:
    params = saved.pop("params")
    sizes = [saved["n_features"], *saved["hidden_sizes"], saved["n_classes"], saved["n_heads"]]
    require(all(type(size) is int and 1 <= size < 2**31 for size in sizes))
    widths = [saved["n_features"], *saved["hidden_sizes"], (1 + saved["n_heads"]) * saved["n_classes"]]
    n_params = sum(prod(pair) + pair[1] for pair in pairwise(widths))
    require(params.shape == (n_params,) and params.dtype.kind == "f")
    require_finite(params)
    network = Network(**saved, dtype=params.dtype)
    network.params[:] = params
    return network


def _table_state(preparation: TablePreparation) -> dict[str, Any]:
    columns, statistics = preparation_state(preparation)
    params = {name: tuple(value) for name, value in preparation.get_params().items()}
    return {"params": params, "columns": columns, "statistics": statistics}


def _restore_table(saved: dict[str, Any]) -> TablePreparation:
    columns, statistics, params = saved["columns"], saved["statistics"], saved["params"]
    require(all(isinstance(column, Column) and _is_column(column) for column in columns))
    require(any(column.used for column in columns))
    require(all(isinstance(text, str) for texts in params.values() for text in texts))
    require_finite([statistics, [column.learned for column in columns]])
    restored = restore_preparation(made(TablePreparation, params), columns, statistics)
    restored.get_feature_names_out()
    return restored


def _is_column(column: Column) -> bool:
    texts = (column.name, column.kind, column.note, column.form, *column.categories)
    return isinstance(column.categories, tuple) and all(isinstance(text, str) for text in texts)


def _pipeline_state(pipeline: Pipeline) -> dict[str, Any]:
    sketch = getattr(pipeline, "sketch_", None)
    return {"steps": pipeline.steps, **({} if sketch is None else {"sketch": vars(sketch)})}


def _restore_pipeline(saved: dict[str, Any]) -> Pipeline:
    steps = saved["steps"]
    require(all(type(name) is str and type(step).__name__ in CODECS for name, step in steps))
    pipeline, of_tables = Pipeline(steps), isinstance(steps[0][1], TablePreparation)
    if of_tables and len(steps) > 1:
        require(len(steps[0][1].get_feature_names_out()) == steps[-1][1].n_features_in_)
    if "sketch" in saved:  # older models have none
        sketch = Sketch(**saved["sketch"])
        require(of_tables and is_sketch_of(sketch, steps[0][1]))
        pipeline.sketch_ = sketch
    return pipeline


def _restore_member(saved: dict[str, Any]) -> Member:
    member = Member(**saved)
    require(isinstance(member.name, str) and type(member.weight) in (int, float))
    require_finite(member.weight)
    return member


# A new class is a line here: of chary's own, or of scikit-learn with the attributes that it predicts with.
CODECS = {
    codec.cls.__name__: codec
    for codec in (
        _own(DiverseEnsembleClassifier, _network_fits, records=("class_bias_", "loss_curve_")),
        _own(MixedEnsembleClassifier, _mixture_fits, records=("class_bias_",)),
        _timeless(
            _own(
                SelfTrainingClassifier,
                _rounds_fit,
                records=("class_bias_", "confidence_", "history_", "transduction_"),
            )
        ),
        _own(ColumnScaler, _columns_fit),
        _own(PlainForest, PlainForest.whole),
        _own(PlainBoosting, PlainBoosting.whole),
        _foreign(ExtraTreesClassifier, _unfitted),
        _foreign(HistGradientBoostingClassifier, _unfitted),
        _foreign(StandardScaler, _scaler_fits, "mean_", "var_", "scale_", "n_samples_seen_"),
        _foreign(QuantileTransformer, _quantiles_fit, "n_quantiles_", "references_", "quantiles_"),
        _foreign(LogisticRegression, _regression_fits, "classes_", "n_iter_", "coef_", "intercept_"),
        Codec(Network, _network_state, _restore_network),
        Codec(TablePreparation, _table_state, _restore_table),
        Codec(Pipeline, _pipeline_state, _restore_pipeline),
        Codec(Member, lambda member: member._asdict(), _restore_member),
        *map(_dataclass, (Trees, Column, *POLICIES)),
    )
}
