"""Writes what ``--json`` prints: a page, ``docs/reference/json.md``, and a JSON Schema per command.

Both are read from the types of the summaries: the fields, their types, and the comments beside
them. ``tests/common/test_json.py`` holds what the commands print against the schemas.
"""

import ast
import inspect
import json
import shutil
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from chary.cli import judge, predict
from chary.labelling import drift
from chary.report import judged_summary, labels_summary, next_steps, plain_data

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "reference" / "json.md"
# Sphinx copies the folder above to the top of the site.
SCHEMAS = DOCS / "schemas" / "schemas"
MODULES = (plain_data, next_steps, labels_summary, judged_summary, drift, judge, predict)
HEAD = """# JSON

What the commands print with `--json`. Numbers that do not exist, such as a limit that is infinite,
are `null`. Within a major version, keys are added, but not renamed or removed.

"""
FILES = {
    "type": "object",
    "additionalProperties": {"type": "string"},
    "description": "the files that were written, by kind",
}
WORDS = {int: "integer", float: "number", str: "string", bool: "boolean", NoneType: "null"}


class Output(NamedTuple):
    """What a command prints."""

    command: str
    summary: type
    adds_files: bool  # whether the files that were written are added to the summary


OUTPUTS = {
    "label": Output("chary label", labels_summary.LabelsSummary, True),
    "diagnose": Output("chary diagnose", labels_summary.DiagnosedSummary, False),
    "judge": Output("chary judge --audit", judged_summary.JudgedSummary, True),
    "judge-draw": Output("chary judge draw", judge.DrawnSummary, False),
    "predict": Output("chary predict", predict.PredictSummary, False),
}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of what a command prints."""
    output = OUTPUTS[name]
    definitions: dict[str, Any] = {}
    _describe(output.summary, definitions)
    top = definitions.pop(output.summary.__name__)
    if output.adds_files:
        top["properties"]["files"] = FILES
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{output.command} --json",
        **top,
        "$defs": definitions,
    }


def _describe(record: type, definitions: dict[str, Any]) -> dict[str, Any]:
    """Add the schema of a TypedDict to the definitions; return a reference to it."""
    reference = {"$ref": f"#/$defs/{record.__name__}"}
    if record.__name__ in definitions:
        return reference
    definitions[record.__name__] = {}
    comments = comments_of(record)
    properties = {}
    for key, hint in _fields_of(record).items():
        properties[key] = _of_type(hint, definitions)
        if key in comments:
            properties[key] = {**properties[key], "description": comments[key]}
    definitions[record.__name__] = {
        "type": "object",
        "description": (inspect.getdoc(record) or "").split("\n")[0].replace("``", ""),
        "properties": properties,
        "required": sorted(record.__required_keys__),
        "additionalProperties": False,
    }
    return reference


def _fields_of(record: type) -> dict[str, Any]:
    """The types of the fields. Some modules import names for their types only."""
    names = {name: value for module in MODULES for name, value in vars(module).items()}
    return get_type_hints(record, localns=names)


def _named(name: str) -> Any:
    """What a name means in the modules."""
    return next((vars(module)[name] for module in MODULES if name in vars(module)), None)


def _of_type(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of one type."""
    kind = get_origin(hint)
    parts = get_args(hint)
    if hint in WORDS:
        return {"type": WORDS[hint]}
    if is_typeddict(hint):
        return _describe(hint, definitions)
    if kind is Literal:
        return {"enum": list(parts)}
    if kind in (Union, UnionType):
        return {"anyOf": [_of_type(part, definitions) for part in parts]}
    if kind is list:
        return {"type": "array", "items": _of_type(parts[0], definitions)}
    if kind is dict:
        return {"type": "object", "additionalProperties": _of_type(parts[1], definitions)}
    if kind is tuple:
        items = [_of_type(part, definitions) for part in parts]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "items": False}
    raise TypeError(f"no schema for {hint}")


def comments_of(record: type) -> dict[str, str]:
    """What stands beside the fields of a class, or in the lines above them; bases included."""
    comments: dict[str, str] = {}
    lines = inspect.getsource(record).splitlines()
    definition = ast.parse("\n".join(lines)).body[0]
    for base in definition.bases:
        part = _named(base.id)
        if is_typeddict(part):
            comments |= comments_of(part)
    for field in definition.body:
        if not isinstance(field, ast.AnnAssign):
            continue
        line = lines[field.end_lineno - 1]
        before = field.lineno - 2
        above = []
        while lines[before].strip().startswith("#"):
            above.insert(0, lines[before].strip(" #"))
            before -= 1
        beside = line[field.end_col_offset :].partition("#")[2].strip()
        words = beside or " ".join(above)
        if words:
            comments[field.target.id] = words.replace("``", "").replace("None", "null")
    return comments


def written() -> str:
    """The page: a section for each command, and one for each record within."""
    sections = [HEAD]
    records: dict[str, Any] = {}
    for name, output in OUTPUTS.items():
        schema = schema_of(name)
        link = f'<a href="../schemas/{name}.json">JSON Schema</a>'
        sections.append(f"## `{output.command} --json`\n\n{schema['description']} {link}\n")
        records |= schema["$defs"]
        sections.append(_table(schema, records))
    sections.append("## Records\n")
    for name, schema in sorted(records.items()):
        sections.append(f"### {name}\n\n{schema['description']}\n")
        sections.append(_table(schema, records))
    return "\n".join(sections)


def _table(schema: dict[str, Any], records: dict[str, Any]) -> str:
    """A line for each key; a record without words of its own is described by its type."""
    lines = ["| Key | Type | What it is |", "|---|---|---|"]
    for key, value in schema["properties"].items():
        words = value.get("description", "")
        if not words and "$ref" in value:
            words = records[value["$ref"].rpartition("/")[2]]["description"]
        words = words.replace("|", "\\|")
        lines.append(f"| `{key}` | {_in_words(value)} | {words} |")
    return "\n".join(lines) + "\n"


def _in_words(schema: dict[str, Any]) -> str:
    """A type as people read it, with links to the records."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_in_words(part) for part in schema["anyOf"])
    if "prefixItems" in schema:
        return "list of " + ", ".join(_in_words(part) for part in schema["prefixItems"])
    if schema["type"] == "array":
        return f"list of {_in_words(schema['items'])}"
    if schema["type"] == "object":
        return f"object of {_in_words(schema['additionalProperties'])}"
    return str(schema["type"])


def write_all() -> None:
    """Write the page and the schemas."""
    PAGE.write_text(written(), encoding="utf-8")
    if SCHEMAS.parent.exists():
        shutil.rmtree(SCHEMAS.parent)
    SCHEMAS.mkdir(parents=True)
    for name in OUTPUTS:
        (SCHEMAS / f"{name}.json").write_text(json.dumps(schema_of(name), indent=2) + "\n")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: write_all())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
