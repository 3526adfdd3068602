"""What ``--json`` prints is what the schemas of the site say."""

import importlib.util
import json
from pathlib import Path

import jsonschema
import polars as pl
import pytest

from chary.cli import main

ROOT = Path(__file__).parents[2]
LABELLED = "".join(f"{i},{i % 7},{'ab'[i % 7 > 3] if i % 3 else ''}\n" for i in range(120))
JUDGED = "".join(f"{i},{i % 7},{'ab'[i % 7 > 2]},0.{50 + i % 40}\n" for i in range(120))


@pytest.fixture(scope="module")
def schema_of():
    path = ROOT / "docs/_ext/json_reference.py"
    spec = importlib.util.spec_from_file_location("json_reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.schema_of


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """Run a command; return what it prints."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(f"id,x,y\n{LABELLED}")
    Path("judged.csv").write_text(f"id,x,y,p\n{JUDGED}")

    def run(*words):
        capsys.readouterr()
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def fill(path, answers):
    """Answer the rows of a sheet in turn, in the column ``answers``."""
    sheet = pl.read_csv(path, infer_schema=False)
    in_turn = pl.Series(answers, ["ab"[i % 2] for i in range(len(sheet))])
    sheet.with_columns(in_turn).write_csv(path)


def test_every_command_prints_what_its_schema_says(printed, schema_of):
    def check(name, figures):
        schema = schema_of(name)
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(figures, schema, cls=jsonschema.Draft202012Validator)

    check("diagnose", printed("diagnose", "t.csv", "--target", "y"))
    check("label", printed("label", "t.csv", "--target", "y", "--learner", "linear"))
    check("predict", printed("predict", "t.model.chary", "judged.csv"))

    main(["audit", "draw", "t.csv", "--target", "y", "-k", "20"])
    fill("t.audit.csv", "y")
    audited = ("--audit", "t.audit.csv", "--error", "0.3", "--force")
    check("label", printed("label", "t.csv", "--target", "y", *audited))

    check("judge-draw", printed("judge", "draw", "judged.csv", "--labels", "y", "-k", "30"))
    fill("judged.judge.csv", "chary_truth")
    audited = ("--audit", "judged.judge.csv", "--error", "0.3", "--confidence", "p")
    required = ("--require", "accuracy>=10%", "--by", "x")
    check("judge", printed("judge", "judged.csv", "--labels", "y", *audited, *required))


def test_a_key_that_no_schema_has_is_noticed(schema_of):
    schema = schema_of("predict")
    figures = {"rows": 1, "labels": {}, "notes": [], "new_rows": {}, "files": {}, "failed": []}
    jsonschema.validate(figures, schema)
    with pytest.raises(jsonschema.ValidationError, match="wrong"):
        jsonschema.validate({**figures, "wrong": 1}, schema)
