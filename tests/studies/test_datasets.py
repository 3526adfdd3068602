"""The benchmark data sets: facts, lookup, verification, and a download path that trusts nothing."""

import os
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO, StringIO

import numpy as np
import pytest
from scipy.io import savemat
from sklearn.datasets import dump_svmlight_file

from studies import datasets
from studies.datasets import DatasetError, content_checksum, facts_of, fetch, find, load

needs_data = pytest.mark.skipif(not os.environ.get("CHARY_DATA"), reason="CHARY_DATA is not set")
ELSEWHERE = [facts.name for facts in datasets.FACTS if facts.name != "digits"]


@pytest.fixture
def empty(monkeypatch, tmp_path):
    """A machine without data."""
    monkeypatch.delenv("CHARY_DATA", raising=False)
    monkeypatch.setenv("CHARY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_digits_always_works_and_is_the_data_described(empty):
    digits = load("digits")
    facts = find("digits")
    assert digits.X.shape == (facts.n, facts.d)
    assert content_checksum(digits.X, digits.y) == facts.sha256 == digits.facts.sha256
    assert not empty.exists()


@needs_data
@pytest.mark.parametrize("name", ELSEWHERE)
def test_every_set_on_disk_is_the_data_described(name):
    dataset, facts = load(name), find(name)
    classes, counts = np.unique(dataset.y, return_counts=True)
    assert dataset.X.shape == (facts.n, facts.d)
    assert len(classes) == facts.n_classes
    assert dataset.X.dtype in (np.float32, np.float64)
    assert np.isfinite(dataset.X).all()
    # Rounding loses at most one label per class; the smallest class can give its labels of the iid
    # scheme.
    assert 0 <= facts.labels_per_class * facts.n_classes - facts.n_labeled <= facts.n_classes
    assert counts.min() * 0.75 > facts.labels_per_class


@needs_data
@pytest.mark.parametrize("name", ["har", "protein"])
def test_fingerprints_are_those_of_the_data_and_move_with_any_change(name):
    facts, X = find(name), load(name).X
    assert datasets._fingerprint(X) == pytest.approx(facts.fingerprint, abs=1e-9)
    assert abs(datasets._fingerprint(X + 1e-9) - facts.fingerprint) < 1e-6
    assert abs(datasets._fingerprint(X[::-1]) - facts.fingerprint) > 1e-6
    assert abs(datasets._fingerprint(X[:, ::-1]) - facts.fingerprint) > 1e-6


def test_names_are_forgiving_and_unknown_ones_are_named():
    assert find("COIL-20") is find("coil20") is find("Coil_20")
    with pytest.raises(
        DatasetError, match="no data set 'iris'; choose one of cod_rna, coil20, digits"
    ):
        load("iris")


def test_a_missing_set_says_how_to_get_it(empty):
    with pytest.raises(
        DatasetError, match=r"studies datasets fetch dry_bean.*CHARY_DATA.*dry_bean\.npz"
    ):
        load("DryBean")
    assert {facts.name for facts in datasets.FACTS if facts.where} == {"digits"}
    assert facts_of("har").sha256 == find("har").sha256  # known without the data


@needs_data
def test_the_repeats_named_in_the_catalogue_are_there():
    for name, repeats in {
        "cod_rna": 10084,
        "dna": 185,
        "phishing": 5270,
        "splice": 185,
        "svmguide1": 64,
    }.items():
        X = load(name).X
        assert len(X) - len(np.unique(X, axis=0)) == repeats
        assert str(repeats) in find(name).caution


def test_a_damaged_file_is_refused(empty, monkeypatch, tmp_path):
    monkeypatch.setenv("CHARY_DATA", str(tmp_path))
    path = tmp_path / "rice.npz"
    np.savez(path, X=np.zeros((3810, 7), np.float32), y=np.zeros(3810))
    with pytest.raises(
        DatasetError, match=r"is not the Rice data: its content has another checksum"
    ):
        load("rice")
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(DatasetError, match=r"not a readable \.npz archive"):
        load("rice")
    np.savez(path, X=np.zeros(3))
    with pytest.raises(DatasetError, match=r"not a readable \.npz archive"):
        load("rice")


def test_an_npz_file_of_ones_own_is_a_data_set(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez(path, X=np.arange(12.0).reshape(6, 2), y=["a", "b"] * 3, r=0.5)
    mine = load(str(path))
    assert mine.facts[1:4] == (20, 20, 0.5)
    assert mine.y.tolist() == ["a", "b"] * 3
    assert facts_of(str(path)) == mine.facts
    np.savez(path, X=np.arange(12.0).reshape(6, 2) + 1, y=["a", "b"] * 3, n_labeled=4)
    assert load(str(path)).facts.sha256 != mine.facts.sha256
    assert load(str(path)).facts.n_labeled == 4
    np.savez(path, X=np.arange(12.0), y=["a", "b"] * 3)
    with pytest.raises(DatasetError, match=r"X of shape \(12,\)"):
        load(str(path))
    with pytest.raises(DatasetError, match="There is no file"):
        load(str(tmp_path / "none.npz"))


# -- The download path, against a server on this machine -------------------------------------------


class Handler(BaseHTTPRequestHandler):
    def __init__(self, files, *args):
        self.files = files
        super().__init__(*args)

    def do_GET(self):
        body, announced = self.files.get(self.path, (None, 0))
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(announced))
        self.end_headers()
        if body:
            self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def serve():
    """Serve {path: bytes, or (bytes, announced length)}; returns the address."""
    servers = []

    def start(files):
        files = {
            path: body if isinstance(body, tuple) else (body, len(body))
            for path, body in files.items()
        }
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, files))
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def svmlight(X, y):
    out = BytesIO()
    dump_svmlight_file(X, y, out, zero_based=False)
    return out.getvalue()


def zipped(**members):
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, body in members.items():
            archive.writestr(name.replace("__", "/"), body)
    return out.getvalue()


@pytest.fixture
def toy(monkeypatch, serve, empty):
    """A made-up set of 6 x 2 in the place of Svmguide1; call it with what the server sends."""
    X, y = (
        np.array([[1.5, 0], [0, 2.25], [1, 1], [3, 0], [0, 4], [7, 7]]),
        np.array([0, 1, 0, 1, 0, 1]),
    )
    known = replace(find("svmguide1"), n=6, d=2, sha256=content_checksum(X, y))

    def use(body, **changes):
        facts = replace(known, urls=(serve({"/file": body}) + "/file",), **changes)
        monkeypatch.setattr(datasets, "FACTS", (facts,))

    use.X, use.y = X, y
    return use


def test_a_good_download_is_kept_and_loads(toy, empty):
    toy(svmlight(toy.X, toy.y))
    assert fetch("svmguide1") == empty / "svmguide1.npz"
    loaded = load("svmguide1")
    assert np.array_equal(loaded.X, toy.X)
    assert np.array_equal(loaded.y, toy.y)
    assert [path.name for path in empty.iterdir()] == ["svmguide1.npz"]


def test_a_truncated_download_is_refused_and_leaves_nothing(toy, empty):
    body = svmlight(toy.X, toy.y)
    toy((body[:-20], len(body)))
    with pytest.raises(DatasetError, match=r"could not be downloaded .* nothing was kept"):
        fetch("svmguide1")
    assert not list(empty.iterdir())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>Not found</html>", "cannot be read"),
        (b"", "cannot be read|is not the Svmguide1 data"),
        (
            svmlight(np.eye(6, 2) + 1, [0, 1] * 3),
            r"has 6 rows of 2 features and is not the Svmguide1 data",
        ),
        (
            svmlight(np.ones((5, 2)), [0, 1, 0, 1, 0]),
            r"has 5 rows of 2 features and is not the Svmguide1 data",
        ),
    ],
)
def test_a_wrong_download_is_refused_and_leaves_nothing(toy, empty, body, message):
    toy(body)
    with pytest.raises(DatasetError, match=message):
        fetch("svmguide1")
    assert not list(empty.iterdir())


def test_no_server_and_no_file_are_one_sentence(toy, empty, monkeypatch):
    toy(b"")
    for url in ("http://127.0.0.1:9/file", find("svmguide1").urls[0] + "-gone"):
        monkeypatch.setattr(datasets, "FACTS", (replace(find("svmguide1"), urls=(url,)),))
        with pytest.raises(DatasetError, match="could not be downloaded"):
            fetch("svmguide1")


def test_an_unusable_cache_is_one_sentence(toy, monkeypatch, tmp_path):
    toy(b"")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CHARY_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(DatasetError, match="set CHARY_CACHE"):
        fetch("svmguide1")


def test_an_archive_with_an_arff_file_loses_its_exact_duplicates(toy):
    rows = [f"{a},{b},{'Yes' if c else 'No'}" for (a, b), c in zip(toy.X, toy.y, strict=True)]
    text = "@RELATION t\n@ATTRIBUTE a REAL\n@ATTRIBUTE b REAL\n@ATTRIBUTE Class {Yes,No}\n@DATA\n"
    body = text + "\n".join([*rows, rows[0], rows[3]])
    toy(zipped(t__data_arff="", **{"t__data.arff": body}), reader="arff")
    fetch("svmguide1")
    assert np.array_equal(load("svmguide1").X, toy.X)


def test_a_matlab_file(toy):
    out = BytesIO()
    savemat(out, {"fea": toy.X, "gnd": toy.y[:, None]})
    toy(out.getvalue(), reader="mat")
    fetch("svmguide1")
    assert np.array_equal(load("svmguide1").y, toy.y)


def test_a_variant_is_known_by_its_fingerprint(toy, empty):
    """HAR's archive within an archive; its last digits depend on who computed them."""

    def text(array):
        out = StringIO()
        np.savetxt(out, array, fmt="%.17g")
        return out.getvalue()

    members = {
        f"UCI HAR Dataset__{part}__{kind}_{part}.txt": text(array[rows])
        for kind, array in (("X", toy.X + 1e-9), ("y", toy.y))
        for part, rows in (("train", slice(4)), ("test", slice(4, 6)))
    }
    body = zipped(**{"UCI HAR Dataset.zip": zipped(**members)})
    known = datasets._fingerprint(toy.X)
    toy(body, reader="har", fingerprint=known)
    fetch("svmguide1")
    assert (
        content_checksum(*load("svmguide1")[:2])
        != load("svmguide1").facts.sha256
        == find("svmguide1").sha256
    )
    toy(body, reader="har", fingerprint=known + 1e-3)
    with pytest.raises(DatasetError, match="is not the Svmguide1 data"):
        fetch("svmguide1")


def test_openml_fills_gaps_with_means_and_numbers_the_classes(toy, monkeypatch):
    gap = toy.X.copy()
    gap[0, 1] = np.nan

    def fetch_openml(data_id, **options):
        assert data_id == 40966
        return gap, np.where(toy.y, "yes", "no")

    monkeypatch.setattr(datasets, "fetch_openml", fetch_openml)
    filled = toy.X.copy()
    filled[0, 1] = gap[1:, 1].mean()
    toy(b"", reader="openml", origin="OpenML 40966", sha256=content_checksum(filled, toy.y))
    fetch("svmguide1")
    assert np.array_equal(load("svmguide1").X, filled)


@needs_data
@pytest.mark.parametrize("name", ["svmguide1", "dna", "phishing"])
def test_the_readers_give_the_very_content_of_the_catalogue(name, serve, monkeypatch, empty):
    """Serve data in its home's format and fetch it: the checksum is the catalogue's."""
    monkeypatch.undo()
    dataset, facts = load(name), find(name)
    monkeypatch.setenv("CHARY_CACHE", str(empty))
    monkeypatch.delenv("CHARY_DATA")
    parts = np.array_split(np.arange(facts.n), len(facts.urls))
    files = {f"/{i}": svmlight(dataset.X[rows], dataset.y[rows]) for i, rows in enumerate(parts)}
    address = serve(files)
    served = replace(facts, urls=tuple(address + path for path in files))
    monkeypatch.setattr(datasets, "FACTS", (served,))
    fetch(name)
    assert load(name).facts.sha256 == facts.sha256
