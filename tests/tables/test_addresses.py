"""Tables at an address: read from a server on this machine, and nothing is asked unless an address is given."""

import http.server
import io
import threading

import polars as pl
import pytest

from chary.cli.app import main
from chary.tables import TableError, read_table

FILES: dict[str, bytes] = {}
FRAME = pl.DataFrame({"age": [31, 47], "city": ["Köln", 'the "old"\n\ntown']})


class Answers(http.server.BaseHTTPRequestHandler):
    """Files of a bucket, whole or in the ranges that are asked for."""

    def do_GET(self):
        data = FILES.get(self.path.partition("?")[0])
        asked, start, n = self.headers.get("Range"), 0, len(data or b"")
        if asked:
            first, last = asked.removeprefix("bytes=").split("-")
            start = int(first) if first else max(0, n - int(last))
            data = None if data is None else data[start : int(last) + 1 if first and last else None]
        self.send_response(404 if data is None else 206 if asked else 200)
        for name, value in {
            "Content-Length": len(data or b""),
            "Content-Range": f"bytes {start}-{start + len(data or b'') - 1}/{n}",
            "ETag": '"1"',
            "Last-Modified": "Wed, 01 Jan 2025 00:00:00 GMT",
        }.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    buffer = io.BytesIO()
    FRAME.write_parquet(buffer)
    FILES.update(
        {
            "/bucket/t.parquet": buffer.getvalue(),
            "/bucket/t.csv": FRAME.write_csv(separator=";").encode(),
            "/bucket/old.csv": FRAME.write_csv(line_terminator="\r\n").encode("cp1252"),
            "/bucket/t.jsonl": FRAME.write_ndjson().encode(),
        }
    )
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


@pytest.fixture
def credentials(server, monkeypatch):
    own = {"ENDPOINT_URL": server, "ACCESS_KEY_ID": "k", "SECRET_ACCESS_KEY": "s", "REGION": "us-east-1"}
    for name, value in {**own, "ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.jsonl"])
def test_the_same_table_at_addresses_of_several_kinds(server, credentials, name):
    for address in (f"{server}/bucket/{name}?version=1", f"{server}/bucket/{name}", f"s3://bucket/{name}"):
        table = read_table(address)
        frame = table.frame.with_columns(pl.col("age").cast(pl.Int64))
        assert frame.equals(FRAME), address
        assert (table.path, table.stem, str(table.folder), table.name) == (address, "t", ".", name)


def test_an_encoding_is_recognised_at_an_address_too(server):
    assert read_table(f"{server}/bucket/old.csv").frame["city"].to_list() == FRAME["city"].to_list()


def test_what_is_not_there_is_one_sentence(server, credentials, capsys):
    for address in (f"{server}/bucket/none.csv", "s3://bucket/none.csv", "nosuch://a/b.csv"):
        with pytest.raises(TableError, match=r"cannot be read \(.*\); check the address"):
            read_table(address)
    assert main(["diagnose", f"{server}/bucket/none.csv", "--target", "y"]) == 1
    assert "check the address" in capsys.readouterr().err
