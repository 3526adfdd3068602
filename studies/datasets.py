"""The paper's 13 benchmark data sets: their facts, loading from disk, and downloading.

The facts are in ``published/datasets.csv``: the paper's table (its "DNA: 6 classes" is a slip: the
file has 3) with the checksums of the content, and the licences of the sources at the time of
writing; none of the data is part of chary. Nothing here uses the network except :func:`fetch`.
"""

from __future__ import annotations

import csv
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray
from scipy.io import arff, loadmat
from sklearn.datasets import fetch_openml, load_digits, load_svmlight_file, make_moons

# Two half-moons in the plane, made on the spot, for illustrations.
MOONS = "moons"
PUBLISHED = Path(__file__).parent / "published"


class DatasetError(ValueError):
    """A data set that is missing, damaged or unknown, in one sentence that says what to do."""


class DataFacts(NamedTuple):
    """What the cells of a study are made of."""

    name: str
    n_labeled: int  # the paper's number of labels
    n_labeled_iid: int  # the same before rounding: as many of each class
    r: float  # the paper's strength of the bias
    sha256: str  # of the content, whatever the file


class Source(NamedTuple):
    """Where a study finds its data sets."""

    facts: Callable[[str], DataFacts]  # of a name
    absent: Callable[[list[str]], list[str]]  # those of some names that are not on this machine
    anywhere: str  # the name of one that needs nothing to be there
    advice: str = ""  # how to get what is absent


class Dataset(NamedTuple):
    """A data set in memory."""

    X: NDArray[Any]  # (n, d) float64, or float32 where that holds the source exactly
    y: NDArray[Any]  # (n,) labels as numbered at the origin
    facts: DataFacts


@dataclass(frozen=True)
class Facts:
    """What is known of a data set without opening it."""

    name: str
    title: str
    n: int
    d: int
    n_classes: int
    n_labeled: int
    labels_per_class: int
    r: float
    dtype: str
    reader: str  # how its files are read, a key of _READERS; "": it comes with scikit-learn
    # For the two sets whose last digits depend on who computed them: see _fingerprint.
    fingerprint: float | None
    sha256: str
    origin: str
    licence: str
    caution: str
    urls: tuple[str, ...]

    @property
    def where(self) -> str:
        """Where it is on this machine: "scikit-learn", a path, or "" when it is not here."""
        return str(_locate(self) or "") if self.reader else "scikit-learn"


def load(name: str) -> Dataset:
    """Load a data set by name, or any ``.npz`` file with arrays ``X`` and ``y`` by its path.

    Looked up in the directory named by the environment variable ``CHARY_DATA``, then in the cache
    (``CHARY_CACHE``, by default ``~/.cache/chary``), never on the network. The content is verified
    against the checksum in the catalogue. A file of your own may also hold the numbers
    ``n_labeled`` and ``r``; without them 10 labels per class and r = 2 are used.

    Examples
    --------
    >>> digits = load("digits")
    >>> digits.X.shape, digits.facts.n_labeled, digits.facts.r
    ((1797, 64), 99, 0.5)
    """
    if name.endswith(".npz"):
        return _load_own(Path(name))
    if name == MOONS:
        X, y = make_moons(2000, noise=0.1, random_state=0)
        return Dataset(X, y, DataFacts(MOONS, 20, 20, 4.0, content_checksum(X, y)))
    facts = find(name)
    if not facts.reader:
        X, y = load_digits(return_X_y=True)
        return Dataset(X, y, facts_of(name))
    path = _locate(facts)
    if path is None:
        raise DatasetError(
            f"{facts.title} is not on this machine; run `python -m studies datasets fetch "
            f"{facts.name}`, or set CHARY_DATA to the directory that holds {facts.name}.npz."
        )
    X, y, _ = _read_npz(path)
    if not _is_original(facts, X, y):
        raise DatasetError(
            f"{path} is not the {facts.title} data: its content has another checksum; delete it "
            f"and run `python -m studies datasets fetch {facts.name}`."
        )
    return Dataset(X.astype(np.float32) if X.dtype == np.uint8 else X, y, facts_of(name))


def facts_of(name: str) -> DataFacts:
    """What the cells of a data set are made of; known sets are not opened for it."""
    if name.endswith(".npz") or name == MOONS:
        return load(name).facts
    f = find(name)
    return DataFacts(f.name, f.n_labeled, f.labels_per_class * f.n_classes, f.r, f.sha256)


def find(name: str) -> Facts:
    """The facts of a data set; case, dashes and underscores in the name do not matter.

    >>> find("Cod-RNA").name
    'cod_rna'
    """
    for facts in FACTS:
        if _plain(name) in (_plain(facts.name), _plain(facts.title)):
            return facts
    known = ", ".join(facts.name for facts in FACTS)
    raise DatasetError(
        f"There is no data set {name!r}; choose one of {known}, or give the path of an .npz file."
    )


def dataset_title(dataset: str) -> str:
    """A data set's name in tables; a file of one's own by its name.

    >>> dataset_title("cod_rna"), dataset_title("of/mine.npz")
    ('Cod-RNA', 'mine')
    """
    try:
        return find(dataset).title
    except DatasetError:
        return Path(dataset).stem


def fetch(name: str) -> Path | None:
    """Download a data set into the cache, verify it, and return its path (None for Digits).

    The files come from their original homes (LIBSVM, UCI, OpenML; see the catalogue). A download
    that is cut short, or is not the data the catalogue describes, is refused and leaves nothing
    behind.
    """
    facts = find(name)
    if not facts.reader:
        return None
    cache = cache_directory()
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatasetError(
            f"The cache {cache} cannot be used ({error}); set CHARY_CACHE."
        ) from error
    with tempfile.TemporaryDirectory(dir=cache, prefix=f".{facts.name}-") as scratch:
        files = [_download(url, Path(scratch) / str(i)) for i, url in enumerate(facts.urls)]
        try:
            X, y = _READERS[facts.reader](facts, files)
            X, y = np.ascontiguousarray(X, dtype=facts.dtype), np.asarray(y).astype(np.int64)
        except Exception as error:  # a parser may raise anything on a wrong file
            detail = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DatasetError(
                f"What {facts.origin} sent for {facts.title} cannot be read ({detail}); nothing "
                "was kept."
            ) from error
        if not _is_original(facts, X, y):
            raise DatasetError(
                f"What {facts.origin} sent has {X.shape[0]} rows of {X.shape[1]} features and is "
                f"not the {facts.title} data chary knows ({facts.n} x {facts.d}); nothing was kept."
            )
        draft = Path(scratch) / "draft.npz"
        np.savez_compressed(draft, X=X, y=y)
        return draft.replace(cache / f"{facts.name}.npz")


def cache_directory() -> Path:
    """Where downloads are kept: ``CHARY_CACHE``, or ``chary`` under the user's cache directory."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("CHARY_CACHE") or Path(home) / "chary")


def content_checksum(X: NDArray[Any], y: NDArray[Any]) -> str:
    """SHA-256 of dtype, shape, features and labels: the same however the archive was compressed."""
    X = np.ascontiguousarray(X)
    digest = hashlib.sha256(f"{X.dtype.str}{X.shape}".encode())
    digest.update(X.data)
    digest.update(np.ascontiguousarray(y, dtype=np.int64).data)
    return digest.hexdigest()


def _load_own(path: Path) -> Dataset:
    if not path.is_file():
        raise DatasetError(
            f"There is no file {path}; give the path of an .npz file with arrays X and y."
        )
    X, y, extra = _read_npz(path)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise DatasetError(
            f"{path} has X of shape {X.shape} and y of shape {y.shape}; give (n, d) and (n,)."
        )
    classes, codes = np.unique(y, return_inverse=True)
    n_labeled, r = int(extra.get("n_labeled", 10 * len(classes))), float(extra.get("r", 2.0))
    n_labeled_iid = -(-n_labeled // len(classes)) * len(classes)
    return Dataset(
        X, y, DataFacts(str(path), n_labeled, n_labeled_iid, r, content_checksum(X, codes))
    )


def _locate(facts: Facts) -> Path | None:
    data = os.environ.get("CHARY_DATA")
    directories = [Path(data)] if data else []
    for directory in [*directories, cache_directory()]:
        path = directory / f"{facts.name}.npz"
        if path.is_file():
            return path
    return None


def _read_npz(path: Path) -> tuple[NDArray[Any], NDArray[Any], dict[str, Any]]:
    """``X``, ``y``, and the numbers that a file of one's own may hold."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            extra = {
                name: archive[name].item() for name in ("n_labeled", "r") if name in archive.files
            }
            return archive["X"], archive["y"], extra
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DatasetError(
            f"{path} is not a readable .npz archive with X and y ({error}); replace it."
        ) from error


def _is_original(facts: Facts, X: NDArray[Any], y: NDArray[Any]) -> bool:
    """Whether the content is that of the catalogue; two sets may differ in their last digits."""
    if content_checksum(X, y) == facts.sha256:
        return True
    is_alike = X.shape == (facts.n, facts.d) and len(np.unique(y)) == facts.n_classes
    return (
        is_alike
        and facts.fingerprint is not None
        and abs(_fingerprint(X) - facts.fingerprint) < 1e-6
    )


def _fingerprint(X: NDArray[Any]) -> float:
    """One number that moves with any change of rows, columns or values, but not with rounding."""
    n, d = X.shape
    return float(
        np.cos(np.arange(n)) @ X.astype(np.float64) @ np.cos(np.arange(d)) / np.sqrt(n * d)
    )


def _download(url: str, path: Path) -> Path:
    try:
        with urlopen(url, timeout=60) as response, path.open("wb") as file:
            expected = response.headers.get("Content-Length")
            while chunk := response.read(1 << 20):
                file.write(chunk)
        if expected is not None and path.stat().st_size != int(expected):
            raise URLError(f"{path.stat().st_size} of {expected} bytes arrived")
    except (
        OSError,
        ValueError,
        HTTPException,
    ) as error:  # URLError, timeouts, broken connections: OSErrors
        raise DatasetError(
            f"{url} could not be downloaded ({error}); nothing was kept, try again."
        ) from error
    return path


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _read_svmlight(facts: Facts, files: list[Path]) -> tuple[Any, Any]:
    parts = [load_svmlight_file(str(file), n_features=facts.d) for file in files]
    return np.vstack([X.toarray() for X, _ in parts]), np.concatenate([y for _, y in parts])


def _read_mat(facts: Facts, files: list[Path]) -> tuple[Any, Any]:
    content = loadmat(files[0])
    return content["fea"], content["gnd"].ravel()


def _read_arff(facts: Facts, files: list[Path]) -> tuple[Any, Any]:
    """Read the one .arff file of an archive.

    Its last column is the class; exact duplicates are dropped.
    """
    with zipfile.ZipFile(files[0]) as archive:
        member = next(name for name in archive.namelist() if name.endswith(".arff"))
        table, meta = arff.loadarff(TextIOWrapper(BytesIO(archive.read(member)), encoding="utf-8"))
    *columns, target = meta.names()
    X = np.column_stack([table[column].astype(np.float64) for column in columns])
    _, y = np.unique(np.char.upper(table[target].astype(str)), return_inverse=True)
    _, first = np.unique(np.column_stack([X, y]), axis=0, return_index=True)
    kept = np.sort(first)
    return X[kept], y[kept]


def _read_har(facts: Facts, files: list[Path]) -> tuple[Any, Any]:
    with zipfile.ZipFile(files[0]) as outer:
        inner = next((name for name in outer.namelist() if name.endswith(".zip")), None)
        archive = zipfile.ZipFile(BytesIO(outer.read(inner))) if inner else outer
        parts = []
        for kind in ("X", "y"):
            names = [f"UCI HAR Dataset/{part}/{kind}_{part}.txt" for part in ("train", "test")]
            parts.append(
                np.concatenate([np.loadtxt(BytesIO(archive.read(name))) for name in names])
            )
    return parts[0], parts[1]


def _read_openml(facts: Facts, files: list[Path]) -> tuple[Any, Any]:
    data_id = int(facts.origin.rsplit(maxsplit=1)[-1])
    cache = str(cache_directory() / "openml")
    X, y = fetch_openml(
        data_id=data_id, return_X_y=True, as_frame=False, parser="liac-arff", data_home=cache
    )
    X = np.asarray(X, dtype=np.float64)
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X), np.unique(y, return_inverse=True)[1]


_READERS = {
    "svmlight": _read_svmlight,
    "mat": _read_mat,
    "arff": _read_arff,
    "har": _read_har,
    "openml": _read_openml,
}


@cache
def published(name: str) -> list[dict[str, str]]:
    """Read a CSV file of what the paper and its authors published, or of facts about data sets."""
    with (PUBLISHED / name).open(newline="") as file:
        return list(csv.DictReader(file))


def _facts(row: dict[str, str]) -> Facts:
    whole = ("n", "d", "n_classes", "n_labeled", "labels_per_class")
    fingerprint = float(row["fingerprint"]) if row["fingerprint"] else None
    numbers: dict[str, Any] = {name: int(row[name]) for name in whole} | {"r": float(row["r"])}
    return Facts(
        **{**row, **numbers, "fingerprint": fingerprint, "urls": tuple(row["urls"].split())}
    )


FACTS: tuple[Facts, ...] = tuple(map(_facts, published("datasets.csv")))
SOURCE = Source(
    facts_of,
    lambda names: [
        name
        for name in names
        if name != MOONS and not name.endswith(".npz") and not find(name).where
    ],
    "digits",
    "run `python -m studies datasets fetch all`, ",
)
