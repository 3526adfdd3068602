"""What a study is: a grid of cells, the task that each cell sets, and how its results are told."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array

from chary import DiverseEnsembleClassifier, SelfTrainingClassifier
from chary.method import iid, selection_biased
from chary.method.estimators import predicted_labels
from chary.method.simulated_bias import rows_by_class
from studies import datasets
from studies.code import digest_of, name_of
from studies.datasets import SOURCE, DataFacts, Source
from studies.store import plain_value

if TYPE_CHECKING:
    import pandas as pd

# The authors' nine seeds.
SEEDS = (0, 1, 42, 100, 1000, 2000, 1234, 3407, 380843)
ALL = tuple(facts.name for facts in datasets.FACTS)
# How the rows that keep their label are drawn, in words.
LABELINGS = {
    "iid": "random labels",  # as many of each class
    "ssb": "biased labels",
    "random": "labels drawn at random from all rows",
    "group": "labels from one group",
    "column": "labels picked by a column",
    "stratified": "labels drawn at random within each class",
}
_NETWORK = DiverseEnsembleClassifier().get_params()


@dataclass(frozen=True)
class Cell:
    """One run: all that its result depends on.

    The fields up to ``model`` fix the shared first fit.
    """

    dataset: str  #: a name, or the path of a file
    data: str  #: checksum of the data's content
    labeling: str  #: a name of LABELINGS, or of the study's own biases
    #: Labels in all, before rounding to whole numbers in each class; 0: the study's bias decides.
    n_labeled: int
    r: float | None  #: strength of the bias; None but under "ssb"
    alpha: float | None  #: 1 is the paper's bias, 0 none; None but under "ssb"
    seed: int  #: of the split, the labels and the network
    model: Mapping[str, Any]  #: parameters of the network that differ from its defaults
    method: str  #: its name in the study
    options: Mapping[str, Any]  #: parameters of the method
    measure: str  #: the name of the function that measures
    code: str = ""  #: digest of task, method and measure; empty for those of a published study

    def content(self) -> dict[str, Any]:
        """The cell as plain values, for its file and its key."""
        content = dict(vars(self))
        if not self.code:
            del content["code"]  # published cells, and their keys, have no such field
        return content

    @property
    def group(self) -> str:
        """Equal for cells that share data, labels and first fit."""
        content = self.content()
        return json.dumps([content[name] for name in list(content)[:8]], sort_keys=True)


#: (X, y, rng), and ``n_labeled`` if it has such a parameter -> where labels are given, (n,) bool.
Bias = Callable[..., Any]
Results = Sequence[tuple[Cell, dict[str, Any]]]


class ResultList(list[tuple[Cell, dict[str, Any]]]):
    """Cells with their results."""

    def to_frame(self) -> pd.DataFrame:
        """Make a row of values from each cell: its identity and what was measured, no lists."""
        import pandas as pd

        rows = [
            {
                k: v
                for k, v in cell.content().items()
                if k not in ("data", "model", "options", "measure", "code")
            }
            | dict(cell.model)
            | dict(cell.options)
            | {"n_labeled": cell.n_labeled or None}
            | {k: v for k, v in result.items() if not isinstance(v, (list, dict))}
            for cell, result in self
        ]
        return pd.DataFrame(rows)


class Shared:
    """Work that the cells of a task share."""

    def once(self, what: Any, work: Callable[[], Any]) -> Any:
        """Return the outcome of ``work``, stored as ``what`` for the cells that share this task."""
        kept = self.__dict__.setdefault("_kept", {})
        if what not in kept:
            kept[what] = work()
        return kept[what]


class Task(Shared):
    """What a method gets to work on: data with some labels, the model to use, and its first fit.

    Parameters
    ----------
    cell : Cell
        What to make the task of.
    bias : callable, default=None
        Draws the rows that keep their label, for a labelling that is not in LABELINGS.

    Attributes
    ----------
    X : array of shape (n, d)
        The training rows.
    y : array of shape (n,)
        Their class codes, -1 where the label is hidden.
    labeled : array of shape (n,), bool
        Where it is not.
    y_true : array of shape (n,)
        All class codes of the training rows; not for methods.
    X_test, y_test : arrays
        What methods are judged on.
    random_state : int
        To seed a method with.
    """

    def __init__(self, cell: Cell, bias: Bias | None = None) -> None:
        self.cell = cell
        self._bias = bias
        dataset = datasets.load(cell.dataset)
        self.X, self.X_test, train, test = train_test_protocol(dataset.X, dataset.y, self._seed(0))
        codes = np.unique(dataset.y, return_inverse=True)[1]
        self.y_true, self.y_test = codes[train], codes[test]
        self.labeled = self._labeled(self._seed(1))
        # Class codes; -1 where the label is hidden.
        self.y = np.where(self.labeled, self.y_true, -1)
        self.random_state = self._seed(2)

    def estimator(self, **changes: Any) -> DiverseEnsembleClassifier:
        """The model of this cell, not fitted."""
        # The protocol has standardised the columns already.
        params = {
            "standardize": False,
            "random_state": self.random_state,
            **self.cell.model,
            **changes,
        }
        return DiverseEnsembleClassifier(**params)

    @cached_property
    def initial(self) -> DiverseEnsembleClassifier:
        """The model fitted on the labels given: every method of this seed starts from it."""
        return self.estimator().fit(self.X, self.y)

    def _seed(self, purpose: int) -> int:
        """Make a random stream for a purpose (split, labels, model): one per data set and seed."""
        entropy = [self.cell.seed, int(self.cell.data[:16], 16), purpose]
        return int(np.random.SeedSequence(entropy).generate_state(1)[0])

    def _labeled(self, seed: int) -> NDArray[np.bool_]:
        cell = self.cell
        if self._bias is not None:
            return self._biased(self._bias, np.random.default_rng(seed))
        if cell.labeling == "iid":
            return iid(self.y_true, cell.n_labeled, seed)
        if cell.labeling == "random":
            return np.random.default_rng(seed).permutation(len(self.X)) < cell.n_labeled
        if cell.labeling == "stratified":
            return selection_biased(
                self.X, self.y_true, cell.n_labeled, r=1.0, alpha=0.0, random_state=seed
            )
        if cell.labeling != "ssb":
            raise ValueError(
                f"Labels {cell.labeling!r} are drawn from real tables, not from {cell.dataset}."
            )
        r, alpha = float(cell.r or 0), float(1 if cell.alpha is None else cell.alpha)
        return selection_biased(self.X, self.y_true, cell.n_labeled, r, alpha, seed)

    def _biased(self, bias: Bias, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Ask the user's function which rows keep their label, and check its answer."""
        X = self.X.view()
        y = self.y_true.view()
        # All methods of the study get these arrays, so that a bias must not change them.
        X.flags.writeable = y.flags.writeable = False
        options = {"n_labeled": self.cell.n_labeled} if takes_n_labeled(bias) else {}
        mask = np.asarray(bias(X, y, rng, **options))
        name = f"The bias {self.cell.labeling!r}"
        if mask.shape != y.shape or mask.dtype != np.bool_:
            raise ValueError(
                f"{name} returned an array of shape {mask.shape} and type {mask.dtype}; expected "
                f"True or False for each of {len(y)} rows."
            )
        n_classes = len(np.unique(y[mask]))
        if n_classes < 2:
            raise ValueError(
                f"{name} labelled {mask.sum()} of {len(y)} rows, of {n_classes} classes; at least "
                "two classes need a label."
            )
        return mask


def train_test_protocol(X: Any, y: Any, random_state: int) -> tuple[NDArray[Any], ...]:
    """Split as in the paper: a quarter of each class for testing, standardised on training rows.

    Returns both parts of ``X``, then the numbers of their rows.

    >>> X, y = np.arange(16.0).reshape(8, 2), [0, 1] * 4
    >>> X_train, X_test, train, test = train_test_protocol(X, y, 0)
    >>> X_train.shape, bool(abs(X_train.mean()) < 1e-12), sorted(test % 2)
    ((6, 2), True, [np.int64(0), np.int64(1)])
    """
    features: NDArray[Any] = check_array(X, dtype=(np.float64, np.float32))
    train, test = train_test_rows(y, random_state)
    X_train = features[train]
    scaler = StandardScaler(copy=False).fit(X_train)
    return scaler.transform(X_train), scaler.transform(features[test]), train, test


def train_test_rows(y: Any, random_state: int) -> list[NDArray[np.intp]]:
    """The rows of that split: as many of each class on either side as the sizes allow."""
    rows_by_class(y)  # refuses a class of one row
    seed = int(np.random.default_rng(random_state).integers(2**32))
    return train_test_split(np.arange(len(y)), test_size=0.25, stratify=y, random_state=seed)


class Method(NamedTuple):
    """How to get from a task to a classifier, and what that is called in tables."""

    run: Callable[..., Any]  #: ``(task, **options) -> anything with predict``
    options: Mapping[str, Any] = {}  #: passed to ``run``
    title: str = ""  #: without one, the name that the study gives it


class Metric(NamedTuple):
    """How a number of a measure is told."""

    unit: str = "percent"  #: "percent" for a share, which is told times 100; or any word, or ""
    lower_is_better: bool = False  #: which direction wins

    @property
    def factor(self) -> int:
        """How many times the number as it was measured is told."""
        return 100 if self.unit == "percent" else 1

    @property
    def symbol(self) -> str:
        """The unit in brackets, as on an axis."""
        symbol = "%" if self.unit == "percent" else self.unit
        return f" ({symbol})" if symbol else ""

    @property
    def words(self) -> str:
        """The unit, and the direction if it is not the usual one, as in a caption."""
        in_unit = f" in {self.unit}" if self.unit else ""
        return f"{in_unit} (lower is better)" if self.lower_is_better else in_unit

    def decimals(self, number: float) -> int:
        """Count the decimals that a number deserves: one of a percentage, else three digits.

        >>> Metric().decimals(71.23), Metric("nats").decimals(0.4123), Metric("s").decimals(512.3)
        (1, 3, 0)
        """
        if self.unit == "percent" or number == 0:
            return 1
        return int(np.clip(2 - math.floor(math.log10(abs(number))), 0, 6))


SHARE = Metric()
# Numbers of chary's own measures that are no shares.
COUNTS = {
    "n_rounds": Metric("rounds"),
    "n_labeled": Metric("rows"),
    "seconds": Metric("seconds", lower_is_better=True),
    "held_out_rows": Metric("rows"),
    "n_scored": Metric("rows"),
}


class TextTable(NamedTuple):
    """A table that a study lays out itself."""

    caption: str
    heads: list[str]
    rows: list[list[str]]


def erm(task: Task) -> DiverseEnsembleClassifier:
    """The supervised baseline: no pseudo-labels."""
    return task.initial


def right_on_test(task: Any, fitted: Any) -> NDArray[np.bool_]:
    """Tell which test rows are predicted right, (n,)."""
    is_right: NDArray[np.bool_] = predicted_labels(fitted, task.X_test) == task.y_test
    return is_right


def accuracy(task: Task, fitted: Any) -> dict[str, Any]:
    """Test accuracy and, of a self-trained model, what it accepted."""
    result: dict[str, Any] = {"accuracy": float(right_on_test(task, fitted).mean())}
    if isinstance(fitted, SelfTrainingClassifier):
        accepted = fitted.labeled_iter_ > 0
        right = fitted.transduction_[accepted] == task.y_true[accepted]
        result["n_rounds"] = fitted.n_rounds_
        result["stopped"] = fitted.termination_condition_
        result["share_accepted"] = float(accepted.sum() / (~task.labeled).sum())
        result["accepted_accuracy"] = float(right.mean()) if accepted.any() else None
    return result


ERM = {"erm": Method(erm, title="ERM")}
Published = Mapping[tuple[str, str], tuple[float, float]]
Conclusion = Callable[["Study", Results, Results], list[str]]


@dataclass(frozen=True)
class Study:
    """A grid of cells: data sets x labellings x methods x values of one parameter x seeds.

    ``dataclasses.replace`` makes a changed copy of a published study. It keeps the study's
    headline, conclusions, figure and numbers of the paper, so change methods or data sets only; for
    another question start from ``Study(name, title)``, which has none of these.

    Parameters
    ----------
    name : str
        By which it is found, and its folder is called.
    title : str
        What is studied.
    datasets : tuple of str, default=all of the paper
        Names, or paths of ``.npz`` files.
    labelings : tuple of str, default=("iid", "ssb")
        How labels are drawn: random labels, the paper's bias, or names of ``biases``.
    methods : dict of Method, default={"erm": the supervised baseline}
        By name.
    measure : callable, default=accuracy
        ``(task, fitted) -> dict of numbers by name``.
    vary : (str, tuple), default=None
        A field of the cell, a parameter of the network or an option of the methods, and its values.
    seeds : tuple of int, default=the nine of the paper
        One run each.
    n_labeled : int, default=None
        Labels in every data set; as many as in the paper when None.
    task : callable, default=Task
        What makes a task of a cell.
    metric : str, default="accuracy"
        The number of the measure that tables and figures show.
    caption : str, default="Test accuracy"
        The same in words.
    axis : str, default=""
        The varied parameter in words.
    derive : callable, default=None
        ``(result of a cell) -> further numbers by name``.
    paper : callable, default=None
        ``(labelling) -> {(data set, method): (mean, deviation)}``, printed beside the results.
    companion : str, default=""
        The study of the same methods under "iid", whose results the conclusions get, too.
    tables : tuple of callables, default=()
        ``(study, results) -> TextTable``; one table of data sets by methods when empty.
    headline : callable, default=None
        ``(study, results) -> a sentence``, above the figure and below the tables.
    conclude : tuple of callables, default=()
        ``(study, results, results under "iid") -> further sentences``.
    figure : callable, default=None
        ``(study, results) -> Axes``. When None, means if a parameter varies, else dots.
    source : Source, default=the data sets of the paper
        Where data sets are looked up.
    only : callable, default=None
        ``(cell) -> bool``, the cells of the grid that there are; all when None.
    biases : dict of callables, default={}
        Own ways to draw labels, by name: ``(X, y, rng) -> mask of labelled rows``.
    metrics : dict of Metric, default={}
        By name, the numbers of the measure that are no shares, or are better if lower.

    Examples
    --------
    >>> study = Study("mine", "Two data sets, biased labels", ("rice", "digits"), ("ssb",))
    >>> len(study.cells(n_seeds=2))
    4
    """

    name: str
    title: str
    datasets: tuple[str, ...] = ALL
    labelings: tuple[str, ...] = ("iid", "ssb")
    methods: Mapping[str, Method] = field(default_factory=lambda: ERM)
    measure: Callable[[Any, Any], dict[str, Any]] = accuracy
    vary: tuple[str, tuple[Any, ...]] | None = None
    seeds: tuple[int, ...] = SEEDS
    n_labeled: int | None = None
    task: Callable[[Cell], Any] = Task
    # How it is told. Functions get the study itself, so that a changed copy tells of its own
    # methods.
    metric: str = "accuracy"
    caption: str = "Test accuracy"
    axis: str = ""
    derive: Callable[[dict[str, Any]], dict[str, float]] | None = None
    paper: Callable[[str], Published] | None = None
    companion: str = ""
    tables: tuple[Callable[[Study, Results], TextTable], ...] = ()
    headline: Callable[[Study, Results], str] | None = None
    conclude: tuple[Conclusion, ...] = ()
    figure: Callable[[Study, Results], Any] | None = None
    source: Source = SOURCE
    only: Callable[[Cell], bool] | None = None
    biases: Mapping[str, Bias] = field(default_factory=dict)
    metrics: Mapping[str, Metric] = field(default_factory=dict)

    def cells(
        self,
        names: Iterable[str] | None = None,
        n_seeds: int | None = None,
        methods: Iterable[str] | None = None,
    ) -> list[Cell]:
        """List the cells of data sets with some ``names``, ``n_seeds`` seeds and some ``methods``.

        Beyond the study's own seeds come 5000, 5001, ...
        """
        self._refuse_labelings()
        wanted = list(self.methods if methods is None else methods)
        unknown = [method for method in wanted if method not in self.methods]
        if unknown or not wanted:
            wrong = ", ".join(map(repr, unknown)) or "''"
            raise ValueError(
                f"{self.name} has no method {wrong}; choose from {', '.join(self.methods)}."
            )
        self._refuse_options(wanted)
        code = {(m, w): self._code(m, w) for m, w in product(wanted, self.labelings)}
        # Of a NumPy array, too: keys of cells are made of plain values.
        values = [plain_value(value) for value in self.vary[1]] if self.vary else [None]
        chosen = self.datasets if names is None else list(names)
        n_seeds = len(self.seeds) if n_seeds is None else n_seeds
        seeds = [*self.seeds[:n_seeds], *range(5000, 5000 + n_seeds - len(self.seeds))]
        cells = []
        for name in chosen:
            facts = self.source.facts(name)
            for seed, labeling in product(seeds, self.labelings):
                cells += [
                    replace(
                        self._cell(facts, labeling, seed, method, value),
                        code=code[method, labeling],
                    )
                    for method, value in product(wanted, values)
                ]
        return [cell for cell in cells if self.only is None or self.only(cell)]

    def value_of(self, cell: Cell) -> Any:
        """The varied parameter's value in a cell; None where nothing varies."""
        if self.vary is None:
            return None
        name = self.vary[0]
        if name in cell.__dataclass_fields__:
            return getattr(cell, name)
        return {**_NETWORK, **cell.model, **cell.options}[name]

    def make_task(self, cell: Cell) -> Any:
        """Make the task of a cell, with the bias that draws its labels if that is the study's."""
        if cell.labeling in self.biases:
            return self.task(cell, self.biases[cell.labeling])  # type: ignore[call-arg]
        return self.task(cell)

    def metric_of(self, name: str) -> Metric:
        """Look up how the number ``name`` of the measure is told; a share unless known."""
        return self.metrics.get(name) or COUNTS.get(name) or SHARE

    def words_of(self, labeling: str) -> str:
        """Say in words how a ``labeling`` draws labels."""
        return LABELINGS.get(labeling) or f"labels drawn by {labeling}"

    def title_of(self, method: str) -> str:
        """A method's name in tables."""
        return (self.methods[method].title if method in self.methods else "") or method

    def published(self, labeling: str) -> Published:
        """Return the paper's numbers under a ``labeling``, in percent.

        They are (data set, method) -> mean and deviation.
        """
        return self.paper(labeling) if self.paper and self.vary is None else {}

    def says(self, results: Results) -> str:
        """The headline of these results; where they give none, what is studied."""
        return (self.headline(self, results) if self.headline else "") or self.title

    def findings(self, results: Results, companion: Results = ()) -> list[str]:
        """Say in sentences what these results show.

        ``companion`` holds the results under "iid", if they were run.
        """
        headline = self.headline(self, results) if self.headline else ""
        said = [f"{headline}."] if headline else []
        for conclusion in self.conclude:
            said += conclusion(self, results, companion)
        return said

    def _refuse_labelings(self) -> None:
        """Refuse labellings that nobody draws."""
        for name in self.labelings:
            if name not in (*LABELINGS, *self.biases):
                raise ValueError(
                    f"{self.name} has no labelling {name!r}; choose from "
                    f"{', '.join([*LABELINGS, *self.biases])}, or give a function of your own: "
                    f"biases={{{name!r}: function}}."
                )
        for name, bias in self.biases.items():
            if name in LABELINGS:
                raise ValueError(f"{name!r} is a labelling of the studies; rename your bias.")
            if not callable(bias):
                raise ValueError(
                    f"The bias {name!r} is {bias!r}; expected a function (X, y, rng) -> where "
                    "labels are given."
                )
        if self.biases and not (isinstance(self.task, type) and issubclass(self.task, Task)):
            raise ValueError(
                f"The tasks of {self.name} draw their labels themselves, so that it takes no "
                "biases; start from table-ssb."
            )

    def _refuse_options(self, methods: Iterable[str]) -> None:
        """Refuse options of methods that cannot be stored with a cell, such as functions."""
        for method in methods:
            for name, value in self.methods[method].options.items():
                try:
                    json.dumps(plain_value(value))
                except TypeError:
                    raise TypeError(
                        f"The option {name!r} of the method {method!r} is a "
                        f"{type(value).__name__}; an option is a number, a text, a list or a dict, "
                        "so that a cell can hold it. Give anything else to the function itself: "
                        f"Method(functools.partial(function, {name}=...))."
                    ) from None

    def _code(self, method: str, labeling: str) -> str:
        """Digest the code of a method, unless a published study runs the same."""
        from studies import imported_studies  # which imports this module

        run = self.methods[method].run
        if labeling in self.biases:
            return digest_of(self.task, run, self.measure, self.biases[labeling])
        for study in imported_studies():
            is_same_method = method in study.methods and study.methods[method].run is run
            if is_same_method and study.task is self.task and study.measure is self.measure:
                return ""
        return digest_of(self.task, run, self.measure)

    def _cell(self, facts: DataFacts, labeling: str, seed: int, method: str, value: Any) -> Cell:
        biased = labeling == "ssb"
        n_labeled = self.n_labeled or (
            facts.n_labeled_iid if labeling == "iid" else facts.n_labeled
        )
        if labeling in self.biases and not takes_n_labeled(self.biases[labeling]):
            n_labeled = 0
        cell = Cell(
            dataset=facts.name,
            data=facts.sha256,
            labeling=labeling,
            n_labeled=n_labeled,
            r=facts.r if biased else None,
            alpha=1.0 if biased else None,
            seed=seed,
            model={},
            method=method,
            options=plain_value(dict(self.methods[method].options)),
            measure=name_of(self.measure),
        )
        if self.vary is None:
            return cell
        name = self.vary[0]
        is_fixed = name in ("r", "alpha") or (name == "n_labeled" and not n_labeled)
        if labeling in self.biases and is_fixed:
            raise ValueError(
                f"{name!r} cannot be varied: {labeling} draws its labels without it. n_labeled can "
                "be varied if the function has a parameter of this name."
            )
        if name in cell.__dataclass_fields__:
            return replace(cell, **{name: value})
        if name in cell.options:
            return replace(cell, options={**cell.options, name: value})
        if name not in _NETWORK:
            raise ValueError(
                f"{name!r} cannot be varied: it is no field of a cell, no parameter of the "
                f"network, and no option of {method}; leave that method out."
            )
        return cell if value == _NETWORK[name] else replace(cell, model={name: value})


def takes_n_labeled(bias: Bias) -> bool:
    """Tell whether a bias asks how many rows to label.

    >>> takes_n_labeled(lambda X, y, rng, n_labeled: y > 0)
    True
    """
    return "n_labeled" in inspect.signature(bias).parameters
