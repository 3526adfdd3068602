"""A name in; one of the 13 benchmark data sets out, verified: from disk, or downloaded when asked to.

Nothing here uses the network except :func:`fetch`.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
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

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
_UCI = "https://archive.ics.uci.edu/static/public/"


class DatasetError(ValueError):
    """A data set that is missing, damaged or unknown, in one sentence that says what to do."""


class Dataset(NamedTuple):
    """A data set in memory."""

    name: str
    X: NDArray[Any]  # (n, d) float64, or float32 where that holds the source exactly
    y: NDArray[Any]  # (n,) labels as numbered at the origin
    n_labeled: int  # the paper's number of labels
    labels_per_class: int  # the same before rounding
    r: float  # the paper's strength of the bias
    sha256: str  # of the content, whatever the file


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
    sha256: str
    origin: str
    licence: str
    caution: str = ""
    urls: tuple[str, ...] = ()
    read: Callable[[Facts, list[Path]], tuple[Any, Any]] | None = None
    # For the two sets whose last digits depend on who computed them: see _fingerprint.
    fingerprint: float | None = None


class Entry(NamedTuple):
    """A line of the catalogue: the facts, and where the data is on this machine."""

    facts: Facts
    where: str  # "scikit-learn", a path, or "" when it is not here


def load(name: str) -> Dataset:
    """Load a data set by name, or any ``.npz`` file with arrays ``X`` and ``y`` by its path.

    Looked up in the directory named by the environment variable ``CHARY_DATA``, then in the cache
    (``CHARY_CACHE``, by default ``~/.cache/chary``), never on the network. The content is verified
    against the checksum in the catalogue. A file of your own may also hold the numbers ``n_labeled``
    and ``r``; without them 10 labels per class and r = 2 are used.

    Examples
    --------
    >>> digits = load("digits")
    >>> digits.X.shape, digits.n_labeled, digits.r
    ((1797, 64), 99, 0.5)
    """
    if name.endswith(".npz"):
        return _load_own(Path(name))
    if name == MOONS:
        X, y = make_moons(2000, noise=0.1, random_state=0)
        return Dataset(MOONS, X, y, 20, 10, 4.0, content_checksum(X, y))
    facts = find(name)
    if facts.name == "digits":
        X, y = load_digits(return_X_y=True)
        return _dataset(facts, X, y, facts.sha256)
    path = _locate(facts)
    if path is None:
        raise DatasetError(
            f"{facts.title} is not on this machine; run `chary datasets fetch {facts.name}`, "
            f"or set CHARY_DATA to the directory that holds {facts.name}.npz."
        )
    X, y, extra = _read_npz(path)
    expected = _recorded_checksum(path, extra, facts)
    found = content_checksum(X, y)
    if found != expected:
        raise DatasetError(
            f"{path} is not the {facts.title} data: its content has checksum {found[:12]}..., expected "
            f"{expected[:12]}...; delete it and run `chary datasets fetch {facts.name}`."
        )
    return _dataset(facts, X, y, found)


def checksum(name: str) -> str:
    """The content checksum that :func:`load` would verify; known sets are not opened for it."""
    if name.endswith(".npz"):
        return _load_own(Path(name)).sha256
    facts = find(name)
    path = _locate(facts)
    # Only the cache can hold a variant with another checksum (see Facts.fingerprint).
    if facts.fingerprint is None or path is None or path.parent != cache_directory():
        return facts.sha256
    return _recorded_checksum(path, _read_npz(path, arrays=False)[2], facts)


def find(name: str) -> Facts:
    """The facts of a data set; case, dashes and underscores in the name do not matter.

    >>> find("Cod-RNA").name
    'cod_rna'
    """
    for facts in FACTS:
        if _plain(name) in (_plain(facts.name), _plain(facts.title)):
            return facts
    known = ", ".join(facts.name for facts in FACTS)
    raise DatasetError(f"There is no data set {name!r}; choose one of {known}, or give the path of an .npz file.")


def dataset_title(dataset: str) -> str:
    """A data set's name in tables; a file of one's own by its name.

    >>> dataset_title("cod_rna"), dataset_title("of/mine.npz")
    ('Cod-RNA', 'mine')
    """
    try:
        return find(dataset).title
    except DatasetError:
        return Path(dataset).stem


def catalogue() -> list[Entry]:
    """Every data set with its facts and where it is on this machine.

    >>> [entry.where for entry in catalogue() if entry.facts.name == "digits"]
    ['scikit-learn']
    """
    entries = []
    for facts in FACTS:
        where = "scikit-learn" if facts.name == "digits" else str(_locate(facts) or "")
        entries.append(Entry(facts, where))
    return entries


def fetch(name: str) -> Path | None:
    """Download a data set into the cache, verified; returns its path (None for Digits: nothing to do).

    The files come from their original homes (LIBSVM, UCI, OpenML; see the catalogue). A download that is
    cut short, or is not the data the catalogue describes, is refused and leaves nothing behind.
    """
    facts = find(name)
    if facts.read is None:
        return None
    cache = cache_directory()
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatasetError(f"The cache {cache} cannot be used ({error}); set CHARY_CACHE.") from error
    with tempfile.TemporaryDirectory(dir=cache, prefix=f".{facts.name}-") as scratch:
        files = [_download(url, Path(scratch) / f"{i}{_suffix(url)}") for i, url in enumerate(facts.urls)]
        try:
            X, y = facts.read(facts, files)
            X, y = np.ascontiguousarray(X, dtype=facts.dtype), np.asarray(y).astype(np.int64)
        except Exception as error:  # a parser may raise anything on a wrong file
            detail = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DatasetError(
                f"What {facts.origin} sent for {facts.title} cannot be read ({detail}); nothing was kept."
            ) from error
        _refuse_other_data(facts, X, y)
        draft = Path(scratch) / "draft.npz"
        np.savez_compressed(draft, X=X, y=y, sha256=np.array(content_checksum(X, y)))
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


def _dataset(facts: Facts, X: NDArray[Any], y: NDArray[Any], sha256: str) -> Dataset:
    if X.dtype == np.uint8:
        X = X.astype(np.float32)
    return Dataset(facts.name, X, y, facts.n_labeled, facts.labels_per_class, facts.r, sha256)


def _load_own(path: Path) -> Dataset:
    if not path.is_file():
        raise DatasetError(f"There is no file {path}; give the path of an .npz file with arrays X and y.")
    X, y, extra = _read_npz(path)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise DatasetError(f"{path} has X of shape {X.shape} and y of shape {y.shape}; give (n, d) and (n,).")
    classes, codes = np.unique(y, return_inverse=True)
    per_class = 10
    n_labeled, r = int(extra.get("n_labeled", per_class * len(classes))), float(extra.get("r", 2.0))
    return Dataset(str(path), X, y, n_labeled, -(-n_labeled // len(classes)), r, content_checksum(X, codes))


def _locate(facts: Facts) -> Path | None:
    data = os.environ.get("CHARY_DATA")
    directories = [Path(data)] if data else []
    for directory in [*directories, cache_directory()]:
        path = directory / f"{facts.name}.npz"
        if path.is_file():
            return path
    return None


def _read_npz(path: Path, arrays: bool = True) -> tuple[NDArray[Any], NDArray[Any], dict[str, Any]]:
    nothing = np.empty(0)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            extra = {k: archive[k].item() for k in ("n_labeled", "r", "sha256") if k in archive.files}
            return (archive["X"], archive["y"], extra) if arrays else (nothing, nothing, extra)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DatasetError(f"{path} is not a readable .npz archive with X and y ({error}); replace it.") from error


def _recorded_checksum(path: Path, extra: dict[str, Any], facts: Facts) -> str:
    return str(extra.get("sha256", facts.sha256)) if path.parent == cache_directory() else facts.sha256


def _refuse_other_data(facts: Facts, X: NDArray[Any], y: NDArray[Any]) -> None:
    same = X.shape == (facts.n, facts.d) and len(np.unique(y)) == facts.n_classes
    if same and facts.fingerprint is None:
        same = content_checksum(X, y) == facts.sha256
    elif same:
        same = abs(_fingerprint(X) - float(facts.fingerprint or 0)) < 1e-6
    if not same:
        raise DatasetError(
            f"What {facts.origin} sent has {X.shape[0]} rows of {X.shape[1]} features and is not the "
            f"{facts.title} data chary knows ({facts.n} x {facts.d}); nothing was kept."
        )


def _fingerprint(X: NDArray[Any]) -> float:
    """One number that moves with any change of rows, columns or values, but not with rounding."""
    n, d = X.shape
    return float(np.cos(np.arange(n)) @ X.astype(np.float64) @ np.cos(np.arange(d)) / np.sqrt(n * d))


def _download(url: str, path: Path) -> Path:
    try:
        with urlopen(url, timeout=60) as response, path.open("wb") as file:
            expected = response.headers.get("Content-Length")
            while chunk := response.read(1 << 20):
                file.write(chunk)
        if expected is not None and path.stat().st_size != int(expected):
            raise URLError(f"{path.stat().st_size} of {expected} bytes arrived")
    except (OSError, ValueError, HTTPException) as error:  # URLError, timeouts, broken connections: OSErrors
        raise DatasetError(f"{url} could not be downloaded ({error}); nothing was kept, try again.") from error
    return path


def _suffix(url: str) -> str:
    return ".bz2" if url.endswith(".bz2") else ""


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _read_svmlight(facts: Facts, files: list[Path]) -> tuple[Any, Any]:
    parts = [load_svmlight_file(str(file), n_features=facts.d) for file in files]
    return np.vstack([X.toarray() for X, _ in parts]), np.concatenate([y for _, y in parts])


def _read_mat(facts: Facts, files: list[Path]) -> tuple[Any, Any]:
    content = loadmat(files[0])
    return content["fea"], content["gnd"].ravel()


def _read_arff(facts: Facts, files: list[Path]) -> tuple[Any, Any]:
    """The one .arff file of an archive; its last column is the class; exact duplicates are dropped."""
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
            parts.append(np.concatenate([np.loadtxt(BytesIO(archive.read(name))) for name in names]))
    return parts[0], parts[1]


def _read_openml(facts: Facts, files: list[Path]) -> tuple[Any, Any]:
    data_id = int(facts.origin.rsplit(maxsplit=1)[-1])
    cache = str(cache_directory() / "openml")
    X, y = fetch_openml(data_id=data_id, return_X_y=True, as_frame=False, parser="liac-arff", data_home=cache)
    X = np.asarray(X, dtype=np.float64)
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X), np.unique(y, return_inverse=True)[1]


_CC_BY = "CC BY 4.0"

# The paper's table of data sets (its "DNA: 6 classes" is a slip: the file has 3), with the checksums of the
# content. Licences are those of the source at the time of writing; none of the data is part of chary.
FACTS: tuple[Facts, ...] = (
    Facts(
        *("cod_rna", "Cod-RNA", 59535, 8, 2, 99, 50, 2.0, "<f8"),
        "c88507e36b3a154b6cf6639c71087d844729c256f098a1fe36156a1040cbc38d",
        *("LIBSVM cod-rna, training file", "not stated by LIBSVM"),
        "10084 repeated rows; 35 rows share their features with a row of the other class",
        (_LIBSVM + "binary/cod-rna",),
        _read_svmlight,
    ),
    Facts(
        *("coil20", "COIL-20", 1440, 1024, 20, 200, 10, 0.33, "<f8"),
        "568880a13a85c2501cf4841cc17210eb2f6e3c7b2e01ffa10e53f6bed2acf856",
        *("COIL-20 (Columbia), 32x32 version COIL20.mat", "research use"),
        "72 views of each object, 5 degrees apart: neighbours fall on both sides of a random split",
        ("http://www.cad.zju.edu.cn/home/dengcai/Data/COIL20/COIL20.mat",),
        _read_mat,
    ),
    Facts(
        *("digits", "Digits", 1797, 64, 10, 99, 10, 0.5, "<f8"),
        "83b1af831f1bc015a094cc88af159c9dc2e8764aff6902620dccd2f7c71226d0",
        *("scikit-learn load_digits (UCI 80, test part)", _CC_BY),
    ),
    Facts(
        *("dna", "DNA", 3186, 180, 3, 149, 50, 25.0, "|u1"),
        "ccc38c9c2bc61b3160c97e67bb617313d78f5d3a3ce2a42e5803b217ae4c8a73",
        *("LIBSVM dna.scale and dna.scale.t", "UCI 69: CC BY 4.0; LIBSVM file: not stated"),
        "185 repeated rows; the paper prints 6 classes, the data has 3",
        (_LIBSVM + "multiclass/dna.scale", _LIBSVM + "multiclass/dna.scale.t"),
        _read_svmlight,
    ),
    Facts(
        *("dry_bean", "DryBean", 13543, 16, 7, 104, 15, 2.0, "<f8"),
        "2f8ee163010c076dd06504b5bda7e58e10dc07f0e526ebc587855d69e6fd7d1c",
        *("UCI 602 Dry Bean", _CC_BY),
        "the 68 exact duplicates of the original 13611 rows are removed, as the paper's size implies",
        (_UCI + "602/dry+bean+dataset.zip",),
        _read_arff,
    ),
    Facts(
        *("har", "HAR", 10299, 561, 6, 299, 50, 0.33, "<f8"),
        "49dbe49908609ca21b64148e146040d23124e4dc46c9a1793a811e37324972cb",
        *("UCI 240 Human Activity Recognition", "CC BY 4.0 (UCI); its readme excludes commercial use"),
        "windows overlap by half and 30 people recur: near-copies fall on both sides of a random split",
        (_UCI + "240/human+activity+recognition+using+smartphones.zip",),
        _read_har,
        -0.03019613530899052,
    ),
    Facts(
        *("mnist", "Mnist", 70000, 784, 10, 100, 10, 0.33, "|u1"),
        "aae7132c8d8ec033012a4bafb588364cdd146d57a5792ab3604541c8cccd1e4e",
        *("OpenML 554", "commonly given as CC BY-SA 3.0"),
        read=_read_openml,
    ),
    Facts(
        *("mushrooms", "Mushrooms", 8124, 112, 2, 79, 40, 2.0, "|u1"),
        "5c697778a23f8fdaa265a19f0ac1aa6edcad7656d0214d1d387b062991238bd9",
        *("LIBSVM mushrooms (one-hot of UCI 73)", _CC_BY),
        "one column is constant",
        (_LIBSVM + "binary/mushrooms",),
        _read_svmlight,
    ),
    Facts(
        *("phishing", "Phishing", 11055, 68, 2, 99, 50, 2.0, "<f8"),
        "d877e2fc4b281af1e3c05de265b0d1e7ed106183d1bb2200d5b7074a3ff62a46",
        *("LIBSVM phishing (one-hot of UCI 327)", _CC_BY),
        "5270 repeated rows: they fall on both sides of a random split; 357 rows come with both labels",
        (_LIBSVM + "binary/phishing",),
        _read_svmlight,
    ),
    Facts(
        *("protein", "Protein", 1080, 77, 8, 80, 10, 0.6, "<f8"),
        "8c07d7a5f030f35bcad7683089d2b14ebbd97b89ba201a93c2a2a93d3db13450",
        *("OpenML 40966", "UCI 342: CC BY 4.0"),
        "15 rows per mouse fall on both sides of a random split; 1396 gaps filled with means of all rows",
        read=_read_openml,
        fingerprint=-0.05430046410658008,
    ),
    Facts(
        *("rice", "Rice", 3810, 7, 2, 29, 15, 2.0, "<f4"),
        "ebe6912c8deb995318ce0335230e120464753c0c240ca799e5f65a3c568dec00",
        *("UCI 545 Rice (Cammeo and Osmancik)", _CC_BY),
        "",
        (_UCI + "545/rice+cammeo+and+osmancik.zip",),
        _read_arff,
    ),
    Facts(
        *("splice", "Splice", 3175, 60, 2, 39, 20, 2.0, "|u1"),
        "861a9b9a0b4d29d15ce19df100e63da5adf5f7bf04bf00a160719531d4d4f9a8",
        *("LIBSVM splice and splice.t", "UCI 69: CC BY 4.0; LIBSVM file: not stated"),
        "185 repeated rows; nucleotides coded 1 to 4 as if they were amounts",
        (_LIBSVM + "binary/splice", _LIBSVM + "binary/splice.t"),
        _read_svmlight,
    ),
    Facts(
        *("svmguide1", "Svmguide1", 3089, 4, 2, 39, 20, 2.0, "<f8"),
        "f75294c7d9b4b5af4b8a3f247d76d4aa519e75d52b0c6f5cf9a704154cf5f819",
        *("LIBSVM svmguide1, training file", "not stated by LIBSVM"),
        "64 repeated rows",
        (_LIBSVM + "binary/svmguide1",),
        _read_svmlight,
    ),
)
